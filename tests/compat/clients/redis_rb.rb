# A round of redis-rb; see ../README.md for what the checks are and who calls this.
require "redis"

PORT = ENV["PORT"].to_i
LOCKED_PORT = ENV["LOCKED_PORT"].to_i
PASSWORD = ENV["PASSWORD"]
BINARY = (0..255).map(&:chr).join.b

def connect(**options)
  client = Redis.new(port: PORT, reconnect_attempts: 0, **options)
  client.ping
  client
end

def expect(wanted, got)
  raise "wanted #{wanted.inspect}, got #{got.inspect}" unless wanted == got
end

def refused?
  yield
  false
rescue Redis::BaseError
  true
end

def wait_for
  1000.times do
    return if yield
    sleep 0.01
  end
  raise "waited for nothing"
end

def blocked_clients(client)
  client.info("clients")["blocked_clients"].to_i
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def ends_with(error)
  yield
rescue error
  nil
else
  raise "it did not end with #{error}"
end

# This job was claimed, that often; it is acked.
def expect_job(client, name, reply, attempts)
  (id, token, body, times), = reply
  expect [name, "job", attempts], [id, body, times]
  expect 1, client.call("q.ack", "jobs", id, token)
end

CHECKS = {
  plain: lambda do
    client = connect
    client.set("plain", BINARY)
    expect BINARY, client.get("plain").b
  end,
  password: lambda do
    connect(port: LOCKED_PORT, password: PASSWORD)
    expect true, refused? { connect(port: LOCKED_PORT) }
    expect true, refused? { connect(port: LOCKED_PORT, password: "wrong") }
  end,
  user: lambda do
    connect(port: LOCKED_PORT, username: "default", password: PASSWORD)
    # With a wrong name redis-rb 4 goes on as the default user, by its own choice.
    expect true, refused? { connect(port: LOCKED_PORT, username: "default", password: "wrong") }
  end,
  database: lambda do
    connect(db: 5).set("database", "five")
    expect "five", connect(db: 5).get("database")
    expect nil, connect.get("database")
    expect true, refused? { connect(db: 99) }
  end,
  name: lambda do
    client = connect(id: "worker-7")
    expect "worker-7", client.client(:getname)
    expect true, client.client(:list).any? { |entry| entry["name"] == "worker-7" }
  end,
  pipeline: lambda do
    replies = connect.pipelined { |pipeline| 1000.times { pipeline.incr("pipeline") } }
    expect (1..1000).to_a, replies
  end,
  transaction: lambda do
    client = connect
    done = client.multi do |transaction|
      transaction.zadd("transaction", 2.5, "job")
      transaction.zscore("transaction", "job")
    end
    expect [true, 2.5], done
    aborted = client.watch("transaction") do
      connect.zadd("transaction", 3, "job")
      client.multi { |transaction| transaction.del("transaction") }
    end
    expect nil, aborted
    expect 3.0, client.zscore("transaction", "job")
  end,
  blocking: lambda do
    client = connect
    waiter = connect
    expect nil, client.blpop("blocking", timeout: 0.05)
    taken = Thread.new { waiter.brpop("blocking", "other", timeout: 0) }
    wait_for { blocked_clients(client) == 1 }
    client.lpush("blocking", "job")
    expect %w[blocking job], taken.value
    waiting = Thread.new { connect.blpop("blocking", timeout: 0) }
    wait_for { blocked_clients(client) == 1 }
    hang_up(waiting)
    wait_for { blocked_clients(client) == 0 }
    expect 1, client.rpush("blocking", "kept")
    expect "kept", client.lpop("blocking")
  end,
  pubsub: lambda do
    client = connect
    seen = []
    listener = connect
    thread = Thread.new do
      listener.subscribe("news") do |on|
        on.message do |channel, message|
          seen << "#{channel} #{message}"
          listener.unsubscribe
        end
      end
    end
    wait_for { client.publish("news", "hello") == 1 }
    thread.join
    expect ["news hello"], seen
    expect "PONG", listener.ping
  end,
  upgrade: lambda do
    port = ENV["UPGRADE_PORT"].to_i
    ends = false
    waiting = Thread.new do
      waiter = connect(port: port)
      expect nil, waiter.blpop("nothing", timeout: 1) until ends
    end
    client = connect(port: port)
    pushed = 0
    3.times do
      before = client.info("server")["run_id"]
      Process.kill("USR2", ENV["UPGRADE_PID"].to_i)
      expect pushed += 1, client.rpush("upgraded", "x") while client.info("server")["run_id"] == before
    end
    ends = true
    waiting.join
    expect pushed, client.llen("upgraded")
  end,
  # As delivered it waits 5 s for any reply. A worker has no limit (0), or a shorter BLOCK. A job arrives during a wait.
  claim: lambda do
    client = connect
    worker = connect(read_timeout: 0)
    expect nil, worker.call("q.claim", "jobs", "block", "6s")
    expect nil, client.call("q.claim", "jobs", "block", "500ms")
    waiting = Thread.new { worker.call("q.claim", "jobs", "block", "60s") }
    wait_for { blocked_clients(client) == 1 }
    name = client.call("q.push", "jobs", "job")
    expect_job client, name, waiting.value, 1
  end,
  # As delivered it gives up after 5 s, sends the claim once more on another connection, and gives up again. Then it
  # has closed both, and no claim has the job.
  cut: lambda do
    client = connect
    began = now
    ends_with(Redis::TimeoutError) { Redis.new(port: PORT).call("q.claim", "jobs", "block", "60s") }
    expect true, (9..15).cover?(now - began)
    wait_for { blocked_clients(client) == 0 }
    began = now
    ends_with(Redis::TimeoutError) { connect.call("q.claim", "jobs", "block", "60s") }
    expect true, (4..8).cover?(now - began)
    wait_for { blocked_clients(client) == 0 }
    name = client.call("q.push", "jobs", "job")
    expect_job client, name, client.call("q.claim", "jobs", "block", "500ms"), 1
  end,
  # A connection that ends: with reconnect_attempts 0 the wait is an error, and the next command connects again; as
  # delivered it sends the claim again by itself. A job that was held comes back when its lease ends.
  lease: lambda do
    client = connect
    worker = connect(read_timeout: 0)
    client.call("q.push", "jobs", "job", "lease", "500ms")
    (name, token), = worker.call("q.claim", "jobs")
    waiting = Thread.new do
      ends_with(Redis::ConnectionError) { worker.call("q.claim", "nothing", "block", "60s") }
    end
    wait_for { blocked_clients(client) == 1 }
    client.call("client", "kill", "type", "normal")
    waiting.join
    reply = worker.call("q.claim", "jobs", "block", "60s")
    ends_with(Redis::CommandError) { client.call("q.ack", "jobs", name, token) }
    expect_job client, name, reply, 2
    repeating = Thread.new { connect(read_timeout: 0, reconnect_attempts: 1).call("q.claim", "jobs", "block", "60s") }
    wait_for { blocked_clients(client) == 1 }
    client.call("client", "kill", "type", "normal")
    wait_for { blocked_clients(client) == 1 }
    name = client.call("q.push", "jobs", "job")
    expect_job client, name, repeating.value, 1
  end,
  scan: lambda do
    client = connect
    keys = (0...500).map { |number| "scan:#{number}" }
    client.mset(*keys.flat_map { |key| [key, "1"] })
    client.hset("scan-hash", keys.to_h { |key| [key, "1"] })
    client.sadd("scan-set", keys)
    client.zadd("scan-zset", keys.each_with_index.map { |key, score| [score, key] })
    expect keys.sort, client.scan_each(match: "scan:*", count: 50).to_a.uniq.sort
    expect keys.sort, client.sscan_each("scan-set").to_a.uniq.sort
    expect keys.sort, client.hscan_each("scan-hash").map(&:first).uniq.sort
    expect keys.sort, client.zscan_each("scan-zset").map(&:first).uniq.sort
  end
}.freeze

# Ending the thread unwinds the client's call, which closes its socket.
def hang_up(waiting)
  waiting.report_on_exception = false
  waiting.raise(IOError, "hung up")
  waiting.join
rescue IOError, Redis::BaseError
  nil
end

$stdout.sync = true
puts "version #{Redis::VERSION}"
CHECKS.each do |name, check|
  if %i[upgrade claim cut lease].include?(name) && !ENV["UPGRADE_PID"]
    puts "skip #{name}"
    next
  end
  check.call
  puts "ok #{name}"
rescue StandardError => e
  puts "FAIL #{name} #{e.message.tr("\n", ' ')}"
end
