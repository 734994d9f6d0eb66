// A round of redigo; see ../../README.md for what the checks are and who calls this.
package main

import (
	"io"
	"net"
	"time"

	"github.com/gomodule/redigo/redis"
)

func dial(to string, options ...redis.DialOption) redis.Conn {
	connection, err := redis.Dial("tcp", to, options...)
	must(err)
	_, err = connection.Do("PING")
	must(err)
	return connection
}

func refused(to string, options ...redis.DialOption) bool {
	connection, err := redis.Dial("tcp", to, options...)
	if err != nil {
		return true
	}
	_, err = connection.Do("PING")
	return err != nil
}

func do(connection redis.Conn, command string, arguments ...interface{}) interface{} {
	reply, err := connection.Do(command, arguments...)
	must(err)
	return reply
}

func text(reply interface{}) string {
	value, err := redis.String(reply, nil)
	must(err)
	return value
}

func plain() {
	connection := dial(address)
	do(connection, "SET", "plain", "a\x00b\r\n\xff")
	expect("a\x00b\r\n\xff", text(do(connection, "GET", "plain")))
}

func passwords() {
	dial(lockedAddress, redis.DialPassword(password))
	expect(true, refused(lockedAddress))
	expect(true, refused(lockedAddress, redis.DialPassword("wrong")))
}

func user() {
	dial(lockedAddress, redis.DialUsername("default"), redis.DialPassword(password))
	expect(true, refused(lockedAddress, redis.DialUsername("nobody"), redis.DialPassword(password)))
}

func database() {
	do(dial(address, redis.DialDatabase(5)), "SET", "database", "five")
	expect("five", text(do(dial(address, redis.DialDatabase(5)), "GET", "database")))
	expect(nil, do(dial(address), "GET", "database"))
	expect(true, refused(address, redis.DialDatabase(99)))
}

func name() {
	connection := dial(address, redis.DialClientName("worker-7"))
	expect("worker-7", text(do(connection, "CLIENT", "GETNAME")))
}

func pipeline() {
	connection := dial(address)
	for i := 0; i < 1000; i++ {
		must(connection.Send("INCR", "pipeline"))
	}
	must(connection.Flush())
	for i := int64(1); i <= 1000; i++ {
		reply, err := connection.Receive()
		must(err)
		expect(i, reply)
	}
}

func transaction() {
	connection, other := dial(address), dial(address)
	must(connection.Send("MULTI"))
	must(connection.Send("ZADD", "transaction", 2.5, "job"))
	must(connection.Send("ZSCORE", "transaction", "job"))
	expect([]interface{}{int64(1), []byte("2.5")}, do(connection, "EXEC"))
	do(connection, "WATCH", "transaction")
	do(other, "ZADD", "transaction", 3, "job")
	must(connection.Send("MULTI"))
	must(connection.Send("DEL", "transaction"))
	expect(nil, do(connection, "EXEC"))
	expect("3", text(do(connection, "ZSCORE", "transaction", "job")))
}

func blockedIn(connection redis.Conn, clients int) func() bool {
	return func() bool { return hasBlocked(text(do(connection, "INFO", "clients")), clients) }
}

func blocking() {
	connection, waiter := dial(address), dial(address)
	expect(nil, do(connection, "BLPOP", "blocking", 0.05))
	taken := make(chan []string)
	go func() {
		pair, _ := redis.Strings(waiter.Do("BRPOP", "blocking", "other", 0))
		taken <- pair
	}()
	waitFor(blockedIn(connection, 1))
	do(connection, "LPUSH", "blocking", "job")
	expect([]string{"blocking", "job"}, <-taken)
	must(waiter.Send("BLPOP", "blocking", 0))
	must(waiter.Flush())
	waitFor(blockedIn(connection, 1))
	must(waiter.Close())
	waitFor(blockedIn(connection, 0))
	expect(int64(1), do(connection, "RPUSH", "blocking", "kept"))
	expect("kept", text(do(connection, "LPOP", "blocking")))
}

func pubsub() {
	connection, listener := dial(address), redis.PubSubConn{Conn: dial(address)}
	must(listener.Subscribe("news"))
	must(listener.PSubscribe("n*"))
	expect(1, listener.Receive().(redis.Subscription).Count)
	expect(2, listener.Receive().(redis.Subscription).Count)
	expect(int64(2), do(connection, "PUBLISH", "news", "hello"))
	expect("hello", string(listener.Receive().(redis.Message).Data))
	expect("n*", listener.Receive().(redis.Message).Pattern)
	must(listener.Ping("here"))
	expect(redis.Pong{Data: "here"}, listener.Receive())
	must(listener.Unsubscribe())
	must(listener.PUnsubscribe())
	expect(1, listener.Receive().(redis.Subscription).Count)
	expect(0, listener.Receive().(redis.Subscription).Count)
}

func scanned(connection redis.Conn, command string, before []interface{}, after ...interface{}) []string {
	var found []string
	cursor := "0"
	for {
		arguments := append(append(append([]interface{}{}, before...), cursor), after...)
		reply := do(connection, command, arguments...).([]interface{})
		items, err := redis.Strings(reply[1], nil)
		must(err)
		found = append(found, items...)
		if cursor = text(reply[0]); cursor == "0" {
			return found
		}
	}
}

func scan() {
	connection, keys := dial(address), scanKeys()
	for score, key := range keys {
		must(connection.Send("SET", key, 1))
		must(connection.Send("HSET", "scan-hash", key, 1))
		must(connection.Send("SADD", "scan-set", key))
		must(connection.Send("ZADD", "scan-zset", score, key))
	}
	do(connection, "")
	expectMembers(keys, scanned(connection, "SCAN", nil, "MATCH", "scan:*", "COUNT", 50))
	expectMembers(keys, scanned(connection, "SSCAN", []interface{}{"scan-set"}))
	expectMembers(keys, everySecond(scanned(connection, "HSCAN", []interface{}{"scan-hash"})))
	expectMembers(keys, everySecond(scanned(connection, "ZSCAN", []interface{}{"scan-zset"})))
}

// A pool gives a connection back clean: what was watched or begun is undone.
func pool() {
	connections := &redis.Pool{MaxIdle: 1, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", address) }}
	borrowed := connections.Get()
	do(borrowed, "WATCH", "pool")
	do(borrowed, "MULTI")
	must(borrowed.Close())
	expect("PONG", text(do(connections.Get(), "PING")))
}

func upgrade() {
	ends, failed := make(chan bool), make(chan error)
	go func() {
		waiter, err := redis.Dial("tcp", upgradeAddress)
		for more := true; more && err == nil; {
			_, err = waiter.Do("BLPOP", "nothing", 1)
			select {
			case <-ends:
				more = false
			default:
			}
		}
		failed <- err
	}()
	connection := dial(upgradeAddress)
	pushed := upgradeThrice(func() string { return text(do(connection, "INFO", "server")) },
		func() int64 { return do(connection, "RPUSH", "upgraded", "x").(int64) })
	close(ends)
	must(<-failed)
	expect(pushed, do(connection, "LLEN", "upgraded"))
}

// expectJob acks the job that was claimed, that often.
func expectJob(connection redis.Conn, name, reply interface{}, attempts int64) {
	job := reply.([]interface{})[0].([]interface{})
	expect([]interface{}{name, []byte("job"), attempts}, []interface{}{job[0], job[2], job[3]})
	expect(int64(1), do(connection, "Q.ACK", "jobs", job[0], job[1]))
}

// claim: no limit as delivered. With DialReadTimeout, DoWithTimeout with 0 waits as long as a reply takes. A job
// arrives during a wait.
func claim() {
	connection, worker := dial(address), dial(address, redis.DialReadTimeout(time.Second))
	wait := func(block string) interface{} {
		reply, err := redis.DoWithTimeout(worker, 0, "Q.CLAIM", "jobs", "BLOCK", block)
		must(err)
		return reply
	}
	expect(nil, do(connection, "Q.CLAIM", "jobs", "BLOCK", "6s"))
	expect(nil, wait("1500ms"))
	expect(nil, do(worker, "Q.CLAIM", "jobs", "BLOCK", "500ms"))
	taken := make(chan interface{})
	go func() { taken <- wait("60s") }()
	waitFor(blockedIn(connection, 1))
	name := do(connection, "Q.PUSH", "jobs", "job")
	expectJob(connection, name, <-taken, 1)
}

// cut: DialReadTimeout is how long it waits for any reply. Then it closes the connection, which cannot be used any
// more; the claim has no job.
func cut() {
	connection, hasty := dial(address), dial(address, redis.DialReadTimeout(time.Second))
	began := time.Now()
	_, err := hasty.Do("Q.CLAIM", "jobs", "BLOCK", "60s")
	timeout, isOfNet := err.(net.Error)
	expect(true, isOfNet && timeout.Timeout())
	expect(true, time.Since(began) < 5*time.Second)
	waitFor(blockedIn(connection, 0))
	_, err = hasty.Do("PING")
	expect(true, err != nil)
	name := do(connection, "Q.PUSH", "jobs", "job")
	expectJob(connection, name, do(dial(address), "Q.CLAIM", "jobs", "BLOCK", "500ms"), 1)
}

// lease: a connection that ends is an error, and stays one; a pool gives a new one. A job that was held comes back when
// its lease ends.
func lease() {
	workers := &redis.Pool{MaxIdle: 1, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", address) }}
	connection, worker := dial(address), workers.Get()
	name := do(connection, "Q.PUSH", "jobs", "job", "LEASE", "500ms")
	lost := do(worker, "Q.CLAIM", "jobs").([]interface{})[0].([]interface{})
	failed := make(chan error)
	go func() {
		_, err := worker.Do("Q.CLAIM", "nothing", "BLOCK", "60s")
		failed <- err
	}()
	waitFor(blockedIn(connection, 1))
	do(connection, "CLIENT", "KILL", "TYPE", "normal")
	expect(io.EOF, <-failed)
	_, err := worker.Do("PING")
	expect(true, err != nil)
	must(worker.Close())
	worker = workers.Get()
	reply := do(worker, "Q.CLAIM", "jobs", "BLOCK", "60s")
	_, err = worker.Do("Q.ACK", "jobs", lost[0], lost[1])
	expect(true, err != nil)
	expectJob(worker, name, reply, 2)
}

func main() {
	runChecks([]check{{"plain", plain}, {"password", passwords}, {"user", user},
		{"database", database}, {"name", name}, {"pipeline", pipeline}, {"transaction", transaction},
		{"blocking", blocking}, {"pubsub", pubsub}, {"scan", scan}, {"pool", pool},
		{"upgrade", upgrade}, {"claim", claim}, {"cut", cut}, {"lease", lease}})
}
