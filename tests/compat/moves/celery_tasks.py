"""Real Celery: `push` gives it jobs, `work` runs its worker until WANTED of them are done."""

import os
import subprocess
import sys
import time

import redis
from celery import Celery

PORT = os.environ["PORT"]
server = redis.Redis(port=int(PORT))
app = Celery("celery_tasks", broker=f"redis://127.0.0.1:{PORT}/0")


@app.task(name="note")
def note(number):
    server.rpush("done", number)


def push():
    for number in range(20):
        note.apply_async((number,), queue="mail", priority=number % 4)
    for number in range(20, 30):
        note.apply_async((number,), queue="mail", countdown=6)


def work():
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "-Q", "mail", "-P",
                               "solo", "--without-gossip", "--without-mingle", "-l", "ERROR"],
                              stdout=subprocess.DEVNULL)
    end = time.time() + 60
    while server.llen("done") < int(os.environ["WANTED"]) and time.time() < end:
        time.sleep(0.1)
    time.sleep(0.5)  # for a job that comes twice
    worker.terminate()
    worker.wait()


{"push": push, "work": work}[sys.argv[1]]() if __name__ == "__main__" else None
