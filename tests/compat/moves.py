"""Queues of real programs move into dueq and back into another Redis; there the real workers do each job once."""

import os
import subprocess

from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS = 30
# Layout, the program, and what its keys begin with.
MOVES = {
    "celery": (["/usr/bin/python3", "celery_tasks.py"], ""),
    "sidekiq": (["ruby", "-W0", "sidekiq_jobs.rb"], ""),
    "laravel": (["php", "laravel_jobs.php"], "app_"),
}


def move(dueq, verb, redis, here, *options):
    """The output of an import or export. Raises if not all of it is there."""
    ours = "--to" if verb == "import" else "--from"
    done = subprocess.run([dueq, verb, f"redis://127.0.0.1:{redis.port}", ours, f"127.0.0.1:{here.port}", "--verify",
                           "all", *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{verb}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def done_in(redis):
    done = subprocess.run(["redis-cli", "-p", str(redis.port), "LRANGE", "done", "0", "-1"], check=True, text=True,
                          capture_output=True)
    return sorted(map(int, done.stdout.split()))


def bring_and_work(layout, command, prefix, servers, dueq):
    """None, or what is wrong."""
    old, here, new = servers

    def program(verb, redis):
        subprocess.run([*command, verb], check=True, timeout=120, capture_output=True,
                       env={**os.environ, "PORT": str(redis.port), "WANTED": str(JOBS)})

    program("push", old)
    imported = move(dueq, "import", old, here, "--layout", layout)
    exported = move(dueq, "export", new, here, "--layout", layout, *(["--prefix", prefix] if prefix else []))
    move(dueq, "export", new, here, "--layout", layout, *(["--prefix", prefix] if prefix else []))
    program("work", new)
    if f"{JOBS} pushed" not in imported or f"{JOBS} written" not in exported:
        return f"{imported}{exported}"
    return None if done_in(new) == list(range(JOBS)) else f"done: {done_in(new)}"


def run_moves(binaries, _build, only):
    os.chdir(os.path.join(HERE, "moves"))
    redis, dueq = binaries
    passed, failures = 0, []
    for layout in (layout for layout in MOVES if only.search(layout)):
        servers = [Server(redis), Server(dueq), Server(redis)]
        try:
            wrong = bring_and_work(layout, *MOVES[layout], servers, dueq)
        except (RuntimeError, subprocess.SubprocessError) as error:
            errors = getattr(error, "stderr", None) or b""
            wrong = f"{error} {errors.decode()[-300:]}"
        finally:
            for server in servers:
                server.stop()
        print(f"{layout:<10} {JOBS} jobs there and back: {'NO' if wrong else 'each done once'}")
        passed += not wrong
        failures += [f"{layout}: {wrong}"] if wrong else []
    return passed, failures
