# Real Sidekiq: `push` gives it jobs, `work` runs its process until WANTED of them are done.
require 'sidekiq'
require 'sidekiq/api'

url = "redis://127.0.0.1:#{ENV['PORT']}/0"
Sidekiq.configure_client { |config| config.redis = { url: url } }
Sidekiq.configure_server do |config|
  config.redis = { url: url }
  config.options[:poll_interval_average] = 1
  config.options[:average_scheduled_poll_interval] = 1
end

class NoteJob
  include Sidekiq::Worker
  sidekiq_options queue: 'mail', retry: 3

  def perform(number)
    Sidekiq.redis { |redis| redis.rpush('done', number) }
  end
end

def push
  20.times { |number| NoteJob.perform_async(number) }
  (20...28).each { |number| NoteJob.perform_in(4, number) }
  [28, 29].each do |number|
    job = { 'class' => 'NoteJob', 'args' => [number], 'queue' => 'mail', 'jid' => "jid-#{number}", 'retry' => 3,
            'failed_at' => Time.now.to_f, 'retry_count' => 0, 'error_class' => 'E', 'error_message' => 'no' }
    set = number == 28 ? 'retry' : 'dead'
    Sidekiq.redis { |redis| redis.zadd(set, Time.now.to_f, Sidekiq.dump_json(job)) }
  end
end

def work
  worker = spawn('sidekiq', '-r', File.expand_path(__FILE__), '-q', 'mail', '-c', '2', out: File::NULL)
  Sidekiq::DeadSet.new.each(&:retry)
  600.times do
    break if Sidekiq.redis { |redis| redis.llen('done') } >= ENV['WANTED'].to_i

    sleep 0.1
  end
  sleep 0.5 # for a job that comes twice
  Process.kill('TERM', worker)
  Process.wait(worker)
end

send(ARGV[0]) if $PROGRAM_NAME == __FILE__
