// A zset of delayed jobs and a list of ready ones; every consumer moves what is due before it pops.
// The article moves by a Lua script, here WATCH and MULTI do: who comes second aborts and tries again.
// A job whose handler fails goes back into the zset with its count of tries.
package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

const (
	jobs    = 120
	workers = 4
	atOnce  = 20
)

type job struct {
	ID    string
	Due   int64
	Tries int
}

// queue gives out each due job once; failed puts it back for another try.
type queue interface {
	delay(j job)
	pop() (j job, settle func(ok bool), found bool)
	left() int64
}

type listQueue struct {
	client         *redis.Client
	delayed, ready string
}

func (q *listQueue) delay(j job) {
	text, err := json.Marshal(j)
	must(err)
	must(q.client.ZAdd(q.delayed, redis.Z{Score: float64(j.Due), Member: string(text)}).Err())
}

func (q *listQueue) migrate() error {
	return q.client.Watch(func(tx *redis.Tx) error {
		due := redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(nowMilliseconds(), 10), Count: atOnce}
		found, err := tx.ZRangeByScore(q.delayed, due).Result()
		if err != nil || len(found) == 0 {
			return err
		}
		values := make([]interface{}, len(found))
		for i := range found {
			values[i] = found[i]
		}
		_, err = tx.Pipelined(func(pipe *redis.Pipeline) error {
			pipe.ZRemRangeByRank(q.delayed, 0, int64(len(found)-1))
			pipe.RPush(q.ready, values...)
			return nil
		})
		return err
	}, q.delayed)
}

func (q *listQueue) pop() (j job, settle func(ok bool), found bool) {
	if err := q.migrate(); err != redis.TxFailedErr {
		must(err)
	}
	text, err := q.client.LPop(q.ready).Result()
	if err == redis.Nil {
		return j, nil, false
	}
	must(err)
	must(json.Unmarshal([]byte(text), &j))
	return j, func(ok bool) {
		if !ok {
			q.delay(job{j.ID, nowMilliseconds() + 20, j.Tries + 1})
		}
	}, true
}

func (q *listQueue) left() int64 {
	return q.client.ZCard(q.delayed).Val() + q.client.LLen(q.ready).Val()
}

type nativeQueue struct {
	client *redis.Client
	topic  string
}

func (q *nativeQueue) delay(j job) {
	text, err := json.Marshal(j)
	must(err)
	_, err = call(q.client, "Q.PUSH", q.topic, string(text), "ID", j.ID, "AT", j.Due)
	must(err)
}

func (q *nativeQueue) pop() (j job, settle func(ok bool), found bool) {
	taken := claim(q.client, "Q.CLAIM", q.topic, "LEASE", "10s", "BLOCK", "20ms")
	if len(taken) == 0 {
		return j, nil, false
	}
	must(json.Unmarshal([]byte(taken[0].body), &j))
	return j, func(ok bool) {
		arguments := []interface{}{"Q.ACK", q.topic, taken[0].id, taken[0].token}
		if !ok {
			arguments = []interface{}{"Q.NACK", q.topic, taken[0].id, taken[0].token, "DELAY", "20ms"}
		}
		_, err := call(q.client, arguments...)
		must(err)
	}, true
}

func (q *nativeQueue) left() int64 {
	return count(q.client, "Q.LEN", q.topic)
}

func newQueue() queue {
	if native() {
		return &nativeQueue{newClient(), "callbacks"}
	}
	return &listQueue{newClient(), "callbacks:delay", "callbacks:ready"}
}

func work(t *tally, done *sync.WaitGroup) {
	defer done.Done()
	q := newQueue()
	for t.finished() < jobs {
		j, settle, found := q.pop()
		if !found {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		number, _ := strconv.Atoi(j.ID)
		ok := t.attempt(j.ID, j.Due) > 1 || number%4 != 0
		if ok {
			t.finish(j.ID)
		}
		settle(ok)
	}
}

func main() {
	t, q := newTally(), newQueue()
	for number := 0; number < jobs; number++ {
		q.delay(job{ID: strconv.Itoa(number), Due: nowMilliseconds() + int64(number*13%300)})
	}
	var done sync.WaitGroup
	for i := 0; i < workers; i++ {
		done.Add(1)
		go work(t, &done)
	}
	done.Wait()
	fmt.Println("pushed", jobs)
	t.print(q.left())
}
