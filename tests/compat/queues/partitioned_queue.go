// A zset for when and a hash for what, a partition for each consumer; a message is deleted when its
// handler has succeeded, so it is consumed at least once. The article's two Lua scripts are MULTI.
package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

const (
	messages   = 60
	partitions = 3
	batch      = 10
)

type message struct {
	key, body string
	due       int64
}

type handler func(m message) error

// partition is what the article calls a topic's partition: one consumer at a time.
type partition interface {
	push(m message) bool
	consume(handle handler) error
	left() int64
}

var errCrash = errors.New("the consumer dies after its work, before it deletes the message")

type zsetPartition struct {
	client     *redis.Client
	zset, hash string
}

func (p *zsetPartition) push(m message) bool {
	var added *redis.IntCmd
	_, err := p.client.TxPipelined(func(pipe *redis.Pipeline) error {
		added = pipe.ZAddNX(p.zset, redis.Z{Score: float64(m.due), Member: m.key})
		pipe.HSetNX(p.hash, m.key, m.body)
		return nil
	})
	must(err)
	return added.Val() == 1
}

func (p *zsetPartition) consume(handle handler) error {
	due := redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(nowMilliseconds(), 10), Count: batch}
	ready, err := p.client.ZRangeByScoreWithScores(p.zset, due).Result()
	must(err)
	for _, z := range ready {
		key := z.Member.(string)
		body, err := p.client.HGet(p.hash, key).Result()
		must(err)
		err = handle(message{key, body, int64(z.Score)})
		if err == errCrash {
			return err
		}
		if err == nil {
			p.delete(key)
		}
	}
	return nil
}

func (p *zsetPartition) delete(key string) {
	_, err := p.client.TxPipelined(func(pipe *redis.Pipeline) error {
		pipe.ZRem(p.zset, key)
		pipe.HDel(p.hash, key)
		return nil
	})
	must(err)
}

func (p *zsetPartition) left() int64 {
	return p.client.ZCard(p.zset).Val() + p.client.HLen(p.hash).Val()
}

type nativePartition struct {
	client *redis.Client
	topic  string
}

func (p *nativePartition) push(m message) bool {
	_, err := call(p.client, "Q.PUSH", p.topic, m.body, "ID", m.key, "AT", m.due)
	if err != nil && strings.HasPrefix(err.Error(), "DUPLICATE") {
		return false
	}
	must(err)
	return true
}

func (p *nativePartition) consume(handle handler) error {
	for _, job := range claim(p.client, "Q.CLAIM", p.topic, "COUNT", batch, "LEASE", "2s") {
		due, _ := strconv.ParseInt(job.body, 10, 64)
		err := handle(message{job.id, job.body, due})
		if err == errCrash {
			return err
		}
		if err != nil {
			_, err = call(p.client, "Q.NACK", p.topic, job.id, job.token, "DELAY", "0ms")
		} else {
			_, err = call(p.client, "Q.ACK", p.topic, job.id, job.token)
		}
		must(err)
	}
	return nil
}

func (p *nativePartition) left() int64 {
	return count(p.client, "Q.LEN", p.topic)
}

func newPartition(number int) partition {
	if native() {
		return &nativePartition{newClient(), fmt.Sprintf("orders-%d", number)}
	}
	return &zsetPartition{newClient(), fmt.Sprintf("orders:%d:z", number), fmt.Sprintf("orders:%d:h", number)}
}

// work fails every fourth message once, and dies once in the middle of message 7.
func work(t *tally) handler {
	return func(m message) error {
		number, _ := strconv.Atoi(m.key)
		first := t.attempt(m.key, m.due) == 1
		if number == 7 && first {
			return errCrash
		}
		if number%4 == 0 && first {
			return errors.New("the handler fails")
		}
		t.finish(m.key)
		return nil
	}
}

func consumeUntilDone(number int, t *tally, done *sync.WaitGroup) {
	defer done.Done()
	p := newPartition(number)
	for t.finished() < messages {
		if p.consume(work(t)) == errCrash {
			p = newPartition(number)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	t, refused := newTally(), 0
	var queues [partitions]partition
	for number := range queues {
		queues[number] = newPartition(number)
	}
	for number := 0; number < messages; number++ {
		due := nowMilliseconds() + int64(number*7%400)
		m := message{strconv.Itoa(number), strconv.FormatInt(due, 10), due}
		queues[number%partitions].push(m)
		if number%5 == 0 && !queues[number%partitions].push(m) {
			refused++
		}
	}
	var done sync.WaitGroup
	for number := range queues {
		done.Add(1)
		go consumeUntilDone(number, t, &done)
	}
	done.Wait()
	left := int64(0)
	for _, queue := range queues {
		left += queue.left()
	}
	fmt.Println("refused", refused)
	t.print(left)
}
