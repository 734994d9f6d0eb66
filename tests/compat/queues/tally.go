// What the Go queues share: the connection, and the count of what was handled.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

func newClient() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("PORT"), ReadTimeout: 20 * time.Second})
}

// native tells whether the Q. commands are to be used instead of the article's own.
func native() bool {
	return os.Getenv("VARIANT") == "q"
}

func nowMilliseconds() int64 {
	return time.Now().UnixNano() / int64(time.Millisecond)
}

func must(err error) {
	if err != nil && err != redis.Nil {
		panic(err)
	}
}

// call sends a command that the client library does not know.
func call(client *redis.Client, arguments ...interface{}) (interface{}, error) {
	command := redis.NewCmd(arguments...)
	err := client.Process(command)
	return command.Val(), err
}

func count(client *redis.Client, arguments ...interface{}) int64 {
	reply, err := call(client, arguments...)
	must(err)
	return reply.(int64)
}

// claimed is a job as Q.CLAIM gives it.
type claimed struct {
	id, body string
	token    int64
}

func claim(client *redis.Client, arguments ...interface{}) []claimed {
	reply, err := call(client, arguments...)
	must(err)
	jobs, _ := reply.([]interface{})
	taken := make([]claimed, len(jobs))
	for i, job := range jobs {
		fields := job.([]interface{})
		taken[i] = claimed{id: fields[0].(string), token: fields[1].(int64), body: fields[2].(string)}
	}
	return taken
}

// tally counts who was handled how often, and who too early.
type tally struct {
	sync.Mutex
	attempts map[string]int
	done     map[string]int
	early    int
}

func newTally() *tally {
	return &tally{attempts: map[string]int{}, done: map[string]int{}}
}

// attempt counts one more try of a job and tells which one it is.
func (t *tally) attempt(id string, due int64) int {
	t.Lock()
	defer t.Unlock()
	if nowMilliseconds() < due {
		t.early++
	}
	t.attempts[id]++
	return t.attempts[id]
}

func (t *tally) finish(id string) {
	t.Lock()
	defer t.Unlock()
	t.done[id]++
}

func (t *tally) finished() int {
	t.Lock()
	defer t.Unlock()
	return len(t.done)
}

func (t *tally) print(left int64) {
	t.Lock()
	defer t.Unlock()
	attempts, repeated := 0, 0
	for id, times := range t.attempts {
		attempts += times
		if t.done[id] != 1 {
			repeated++
		}
	}
	fmt.Printf("finished %d\nattempts %d\nfinished more than once %d\nearly %d\nleft %d\n",
		len(t.done), attempts, repeated, t.early, left)
}
