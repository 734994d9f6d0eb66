// A round of go-redis; see ../../README.md for what the checks are and who calls this.
package main

import (
	"io"
	"net"
	"time"

	"gopkg.in/redis.v5"
)

func connect(options redis.Options) *redis.Client {
	if options.Addr == "" {
		options.Addr = address
	}
	options.ReadTimeout = 20 * time.Second
	client := redis.NewClient(&options)
	must(client.Ping().Err())
	return client
}

func refused(options redis.Options) bool {
	if options.Addr == "" {
		options.Addr = address
	}
	return redis.NewClient(&options).Ping().Err() != nil
}

func plain() {
	client := connect(redis.Options{})
	must(client.Set("plain", "a\x00b\r\n\xff", time.Minute).Err())
	expect("a\x00b\r\n\xff", client.Get("plain").Val())
	expect(true, client.SetNX("plain-lock", "me", 1500*time.Millisecond).Val())
	expect(false, client.SetNX("plain-lock", "you", 1500*time.Millisecond).Val())
}

func passwords() {
	connect(redis.Options{Addr: lockedAddress, Password: password})
	expect(true, refused(redis.Options{Addr: lockedAddress}))
	expect(true, refused(redis.Options{Addr: lockedAddress, Password: "wrong"}))
}

func database() {
	must(connect(redis.Options{DB: 5}).Set("database", "five", 0).Err())
	expect("five", connect(redis.Options{DB: 5}).Get("database").Val())
	expect(redis.Nil, connect(redis.Options{}).Get("database").Err())
	expect(true, refused(redis.Options{DB: 99}))
}

func name() {
	client := connect(redis.Options{})
	pipeline := client.TxPipeline()
	pipeline.ClientSetName("worker-7")
	_, err := pipeline.Exec()
	must(err)
	named := redis.NewStringCmd("client", "getname")
	must(client.Process(named))
	expect("worker-7", named.Val())
}

func pipeline() {
	pipe := connect(redis.Options{}).Pipeline()
	counts := make([]*redis.IntCmd, 1000)
	for i := range counts {
		counts[i] = pipe.Incr("pipeline")
	}
	_, err := pipe.Exec()
	must(err)
	for i, count := range counts {
		expect(int64(i+1), count.Val())
	}
}

func transaction() {
	client := connect(redis.Options{})
	pipe := client.TxPipeline()
	added, score := pipe.ZAdd("transaction", redis.Z{Score: 2.5, Member: "job"}), pipe.ZScore("transaction", "job")
	_, err := pipe.Exec()
	must(err)
	expect(int64(1), added.Val())
	expect(2.5, score.Val())
	err = client.Watch(func(tx *redis.Tx) error {
		must(client.ZAdd("transaction", redis.Z{Score: 3, Member: "job"}).Err())
		_, err := tx.Pipelined(func(pipe *redis.Pipeline) error { return pipe.Del("transaction").Err() })
		return err
	}, "transaction")
	expect(redis.TxFailedErr, err)
	expect(3.0, client.ZScore("transaction", "job").Val())
}

func blockedIn(client *redis.Client, clients int) func() bool {
	return func() bool { return hasBlocked(client.Info("clients").Val(), clients) }
}

func blocking() {
	client := connect(redis.Options{})
	expect(redis.Nil, client.BLPop(time.Second, "blocking").Err())
	taken := make(chan []string)
	go func() { taken <- client.BRPop(0, "blocking", "other").Val() }()
	waitFor(blockedIn(client, 1))
	must(client.LPush("blocking", "job").Err())
	expect([]string{"blocking", "job"}, <-taken)
	waiter, socket := connectWithSocket()
	go waiter.BLPop(0, "blocking")
	waitFor(blockedIn(client, 1))
	must((*socket).Close())
	must(waiter.Close())
	waitFor(blockedIn(client, 0))
	expect(int64(1), client.RPush("blocking", "kept").Val())
	expect("kept", client.LPop("blocking").Val())
}

// connectWithSocket shows the client's socket, to break it while a call waits on it.
func connectWithSocket() (*redis.Client, *net.Conn) {
	var socket net.Conn
	client := connect(redis.Options{PoolSize: 1, Dialer: func() (net.Conn, error) {
		var err error
		socket, err = net.Dial("tcp", address)
		return socket, err
	}})
	return client, &socket
}

func pubsub() {
	client := connect(redis.Options{})
	listener, err := client.Subscribe("news")
	must(err)
	must(listener.PSubscribe("n*"))
	waitFor(func() bool { return client.PubSubNumPat().Val() == 1 })
	expect(int64(2), client.Publish("news", "hello").Val())
	for _, pattern := range []string{"", "n*"} {
		message, err := listener.ReceiveMessage()
		must(err)
		expect("hello", message.Payload)
		expect(pattern, message.Pattern)
	}
	must(listener.Unsubscribe("news"))
	must(listener.Close())
}

func scanned(next func(cursor uint64) ([]string, uint64, error)) []string {
	var found []string
	cursor := uint64(0)
	for {
		batch, following, err := next(cursor)
		must(err)
		found = append(found, batch...)
		if cursor = following; cursor == 0 {
			return found
		}
	}
}

func scan() {
	client, keys := connect(redis.Options{}), scanKeys()
	pipe := client.Pipeline()
	for score, key := range keys {
		pipe.Set(key, 1, 0)
		pipe.HSet("scan-hash", key, 1)
		pipe.SAdd("scan-set", key)
		pipe.ZAdd("scan-zset", redis.Z{Score: float64(score), Member: key})
	}
	_, err := pipe.Exec()
	must(err)
	expectMembers(keys, scanned(func(c uint64) ([]string, uint64, error) { return client.Scan(c, "scan:*", 50).Result() }))
	expectMembers(keys, scanned(func(c uint64) ([]string, uint64, error) { return client.SScan("scan-set", c, "", 0).Result() }))
	expectMembers(keys, everySecond(scanned(func(c uint64) ([]string, uint64, error) {
		return client.HScan("scan-hash", c, "", 0).Result()
	})))
	expectMembers(keys, everySecond(scanned(func(c uint64) ([]string, uint64, error) {
		return client.ZScan("scan-zset", c, "", 0).Result()
	})))
}

func upgrade() {
	client, waiter := connect(redis.Options{Addr: upgradeAddress}), connect(redis.Options{Addr: upgradeAddress})
	ends, failed := make(chan bool), make(chan error)
	go func() {
		var err error = redis.Nil
		for more := true; more && err == redis.Nil; {
			err = waiter.BLPop(time.Second, "nothing").Err()
			select {
			case <-ends:
				more = false
			default:
			}
		}
		failed <- err
	}()
	pushed := upgradeThrice(func() string { return client.Info("server").Val() },
		func() int64 { return client.RPush("upgraded", "x").Val() })
	close(ends)
	expect(redis.Nil, <-failed)
	expect(pushed, client.LLen("upgraded").Val())
}

func claimed(client *redis.Client, arguments ...interface{}) ([]interface{}, error) {
	claim := redis.NewSliceCmd(append([]interface{}{"Q.CLAIM", "jobs"}, arguments...)...)
	err := client.Process(claim)
	return claim.Val(), err
}

func pushed(client *redis.Client, options ...interface{}) string {
	push := redis.NewStringCmd(append([]interface{}{"Q.PUSH", "jobs", "job"}, options...)...)
	must(client.Process(push))
	return push.Val()
}

func acked(client *redis.Client, job []interface{}) (int64, error) {
	ack := redis.NewIntCmd("Q.ACK", "jobs", job[0], job[1])
	err := client.Process(ack)
	return ack.Val(), err
}

// expectJob acks the job that was claimed, that often.
func expectJob(client *redis.Client, name string, jobs []interface{}, attempts int64) {
	job := jobs[0].([]interface{})
	expect([]interface{}{name, "job", attempts}, []interface{}{job[0], job[2], job[3]})
	count, err := acked(client, job)
	must(err)
	expect(int64(1), count)
}

// claim: as delivered it waits 3 s for the reply of a command that it does not know as a blocking one. A worker has a
// client with a longer ReadTimeout, or none (-1), or a shorter BLOCK. A job arrives during a wait.
func claim() {
	client, worker := connect(redis.Options{}), redis.NewClient(&redis.Options{Addr: address, ReadTimeout: -1})
	_, err := claimed(client, "BLOCK", "4s")
	expect(redis.Nil, err)
	_, err = claimed(worker, "BLOCK", "4s")
	expect(redis.Nil, err)
	_, err = claimed(redis.NewClient(&redis.Options{Addr: address}), "BLOCK", "2s")
	expect(redis.Nil, err)
	taken := make(chan []interface{})
	go func() {
		jobs, _ := claimed(worker, "BLOCK", "60s")
		taken <- jobs
	}()
	waitFor(blockedIn(client, 1))
	name := pushed(client)
	expectJob(client, name, <-taken, 1)
}

// cut: as delivered it gives up after 3 s and closes the connection; the claim has no job.
func cut() {
	client, hasty := connect(redis.Options{}), redis.NewClient(&redis.Options{Addr: address})
	began := time.Now()
	_, err := claimed(hasty, "BLOCK", "60s")
	timeout, isOfNet := err.(net.Error)
	expect(true, isOfNet && timeout.Timeout())
	expect(true, time.Since(began) > 2*time.Second && time.Since(began) < 6*time.Second)
	waitFor(blockedIn(client, 0))
	name := pushed(client)
	jobs, err := claimed(hasty, "BLOCK", "500ms")
	must(err)
	expectJob(client, name, jobs, 1)
}

// lease: a connection that ends is an error, the next command connects again. A job that was held comes back when
// its lease ends.
func lease() {
	client, worker := connect(redis.Options{}), redis.NewClient(&redis.Options{Addr: address, ReadTimeout: -1})
	name := pushed(client, "LEASE", "500ms")
	lost, err := claimed(worker)
	must(err)
	failed := make(chan error)
	go func() {
		nothing := redis.NewSliceCmd("Q.CLAIM", "nothing", "BLOCK", "60s")
		failed <- worker.Process(nothing)
	}()
	waitFor(blockedIn(client, 1))
	must(client.Process(redis.NewIntCmd("CLIENT", "KILL", "TYPE", "normal")))
	expect(io.EOF, <-failed)
	jobs, err := claimed(worker, "BLOCK", "60s")
	must(err)
	_, err = acked(worker, lost[0].([]interface{}))
	expect(true, err != nil)
	expectJob(client, name, jobs, 2)
}

func main() {
	runChecks([]check{{"plain", plain}, {"password", passwords}, {"database", database},
		{"name", name}, {"pipeline", pipeline}, {"transaction", transaction}, {"blocking", blocking},
		{"pubsub", pubsub}, {"scan", scan}, {"upgrade", upgrade}, {"claim", claim}, {"cut", cut}, {"lease", lease}})
}
