#!/usr/bin/perl
# A round of Perl's Redis; see ../README.md for what the checks are and who calls this.
use strict;
use warnings;
use Redis;
use POSIX ();

my ($port, $locked_port, $password) = @ENV{qw(PORT LOCKED_PORT PASSWORD)};
my $binary = join '', map { chr } 0 .. 255;

sub connect_to {
    my ($to, %options) = @_;
    return Redis->new(server => "127.0.0.1:$to", %options);
}

sub expect {
    my ($wanted, $got) = @_;
    $got = '(none)' unless defined $got;
    die "wanted $wanted, got $got\n" unless $wanted eq $got;
}

sub refused {
    my ($run) = @_;
    return !eval { $run->(); 1 };
}

sub wait_for {
    my ($condition) = @_;
    for (1 .. 1000) {
        return if $condition->();
        select undef, undef, undef, 0.01;
    }
    die "waited for nothing\n";
}

sub blocked_clients {
    my ($client) = @_;
    return $client->info->{blocked_clients};
}

sub in_process {
    my ($run) = @_;
    my $pid = fork;
    return $pid if $pid;
    $run->();
    kill KILL => $$;    # without the destructors of what the parent still uses
}

sub end_process {
    my ($pid) = @_;
    kill KILL => $pid;
    waitpid $pid, 0;
}

# This job was claimed, that often; it is acked.
sub expect_job {
    my ($client, $name, $job, $attempts) = @_;
    my ($id, $token, $body, $times) = @$job;
    expect("$name job $attempts", "$id $body $times");
    expect(1, $client->__std_cmd('Q.ACK', 'jobs', $id, $token));
}

sub scanned {
    my ($next) = @_;
    my ($cursor, $batch, %found) = (0);
    do {
        ($cursor, $batch) = $next->($cursor);
        $found{$_}++ for @$batch;
    } while ($cursor);
    return join ' ', sort keys %found;
}

sub every_second {
    my ($cursor, $batch) = @_;
    return ($cursor, [ @$batch[ grep { $_ % 2 == 0 } 0 .. $#$batch ] ]);
}

my @checks = (
    plain => sub {
        my $client = connect_to($port);
        $client->set(plain => $binary);
        expect($binary, $client->get('plain'));
    },
    password => sub {
        expect('PONG', connect_to($locked_port, password => $password)->ping);
        expect(1, refused(sub { connect_to($locked_port)->ping or die }));
        expect(1, refused(sub { connect_to($locked_port, password => 'wrong') }));
    },
    user => sub {
        my $client = connect_to($locked_port, no_auto_connect_on_new => 1);
        $client->connect;
        expect('OK', $client->auth('default', $password));
        expect(1, refused(sub { connect_to($locked_port)->auth('nobody', $password) }));
    },
    database => sub {
        my $client = connect_to($port, on_connect => sub { $_[0]->select(5) });
        $client->set(database => 'five');
        expect('five', $client->get('database'));
        expect('(none)', connect_to($port)->get('database'));
        expect(1, refused(sub { $client->select(99) }));
    },
    name => sub {
        my $client = connect_to($port, name => 'worker-7');
        expect('worker-7', $client->client_getname);
        expect(1, scalar($client->client_list =~ /name=worker-7 /));
    },
    pipeline => sub {
        my ($client, @replies) = connect_to($port);
        $client->incr('pipeline', sub { push @replies, $_[0] }) for 1 .. 1000;
        $client->wait_all_responses;
        expect(join(' ', 1 .. 1000), join(' ', @replies));
    },
    transaction => sub {
        my $client = connect_to($port);
        $client->multi;
        $client->zadd('transaction', 2.5, 'job');
        $client->zscore('transaction', 'job');
        expect('1 2.5', join ' ', $client->exec);
        $client->watch('transaction');
        connect_to($port)->zadd('transaction', 3, 'job');
        $client->multi;
        $client->del('transaction');
        expect('(none)', scalar $client->exec);
        expect(3, $client->zscore('transaction', 'job'));
    },
    blocking => sub {
        my $client = connect_to($port);
        expect('(none)', scalar $client->blpop('blocking', 0.05));
        my $waiter = in_process(sub {
            my @taken = connect_to($port)->brpop('blocking', 'other', 0);
            connect_to($port)->set(taken => "@taken");
        });
        wait_for(sub { blocked_clients($client) == 1 });
        $client->lpush('blocking', 'job');
        wait_for(sub { ($client->get('taken') // '') eq 'blocking job' });
        end_process($waiter);
        $waiter = in_process(sub { connect_to($port)->blpop('blocking', 0) });
        wait_for(sub { blocked_clients($client) == 1 });
        end_process($waiter);
        wait_for(sub { blocked_clients($client) == 0 });
        expect(1, $client->rpush('blocking', 'kept'));
        expect('kept', $client->lpop('blocking'));
    },
    pubsub => sub {
        my ($client, $listener, @seen) = (connect_to($port), connect_to($port));
        my $hear = sub { my ($message, $topic) = @_; push @seen, "$topic $message" };
        $listener->subscribe('news', $hear);
        $listener->psubscribe('n*', $hear);
        expect(2, $client->publish('news', 'hello'));
        $listener->wait_for_messages(5) while @seen < 2;
        expect('news hello news hello', "@seen");
        $listener->unsubscribe('news', $hear);
        $listener->punsubscribe('n*', $hear);
        expect('PONG', $listener->ping);
    },
    upgrade => sub {
        my ($port, $pushed) = ($ENV{UPGRADE_PORT}, 0);
        my $waiter = in_process(sub {
            my $client = connect_to($port);
            until ($client->get('upgrade-ends')) {
                return if defined $client->blpop('nothing', 1);
            }
            $client->set('upgrade-waited' => 'yes');
        });
        my $client = connect_to($port);
        for (1 .. 3) {
            my $before = $client->info->{run_id};
            kill USR2 => $ENV{UPGRADE_PID};
            expect(++$pushed, $client->rpush('upgraded', 'x')) while $client->info->{run_id} eq $before;
        }
        $client->set('upgrade-ends' => 'yes');
        wait_for(sub { ($client->get('upgrade-waited') // '') eq 'yes' });
        end_process($waiter);
        expect($pushed, $client->llen('upgraded'));
    },
    # No limit as delivered; a worker with a read_timeout has a shorter BLOCK. A job arrives during a wait.
    claim => sub {
        my ($client, $worker, $hasty) = (connect_to($port), connect_to($port), connect_to($port, read_timeout => 1));
        expect('(none)', scalar $worker->__std_cmd('Q.CLAIM', 'jobs', 'BLOCK', '6s'));
        expect('(none)', scalar $hasty->__std_cmd('Q.CLAIM', 'jobs', 'BLOCK', '500ms'));
        my $pusher = in_process(sub {
            my $other = connect_to($port);
            wait_for(sub { blocked_clients($other) == 1 });
            $other->__std_cmd('Q.PUSH', 'jobs', 'job', 'ID', 'a');
        });
        my ($job) = $worker->__std_cmd('Q.CLAIM', 'jobs', 'BLOCK', '60s');
        expect_job($client, 'a', $job, 1);
        waitpid $pusher, 0;
    },
    # read_timeout is how long it waits for any reply. Then it closes the connection, and connects again only with
    # `reconnect`; the claim has no job.
    cut => sub {
        my ($client, $hasty) = (connect_to($port), connect_to($port, read_timeout => 1));
        expect(1, refused(sub { $hasty->__std_cmd('Q.CLAIM', 'jobs', 'BLOCK', '60s') }));
        wait_for(sub { blocked_clients($client) == 0 });
        expect(1, refused(sub { $hasty->get('x') }));
        my $name = $client->__std_cmd('Q.PUSH', 'jobs', 'job');
        my ($job) = $client->__std_cmd('Q.CLAIM', 'jobs', 'BLOCK', '500ms');
        expect_job($client, $name, $job, 1);
    },
    # A connection that ends: the wait is an error, the next command connects again with `reconnect`. A job that was held
    # comes back when its lease ends.
    lease => sub {
        my ($client, $worker) = (connect_to($port), connect_to($port, reconnect => 10));
        my $name = $client->__std_cmd('Q.PUSH', 'jobs', 'job', 'LEASE', '500ms');
        my ($lost) = $worker->__std_cmd('Q.CLAIM', 'jobs');
        my $id = $worker->client_id;
        my $killer = in_process(sub {
            my $other = connect_to($port);
            wait_for(sub { blocked_clients($other) == 1 });
            $other->client_kill('ID', $id);
        });
        expect(1, refused(sub { $worker->__std_cmd('Q.CLAIM', 'nothing', 'BLOCK', '60s') }));
        waitpid $killer, 0;
        my ($job) = $worker->__std_cmd('Q.CLAIM', 'jobs', 'BLOCK', '60s');
        expect(1, refused(sub { $worker->__std_cmd('Q.ACK', 'jobs', $name, $lost->[1]) }));
        expect_job($worker, $name, $job, 2);
    },
    scan => sub {
        my $client = connect_to($port);
        my @keys = map { "scan:$_" } 0 .. 499;
        $client->mset(map { $_ => 1 } @keys);
        $client->hmset('scan-hash', map { $_ => 1 } @keys);
        $client->sadd('scan-set', @keys);
        $client->zadd('scan-zset', map { $_ => "scan:$_" } 0 .. 499);
        my $wanted = join ' ', sort @keys;
        expect($wanted, scanned(sub { $client->scan($_[0], MATCH => 'scan:*', COUNT => 50) }));
        expect($wanted, scanned(sub { $client->sscan('scan-set', $_[0]) }));
        expect($wanted, scanned(sub { every_second($client->hscan('scan-hash', $_[0])) }));
        expect($wanted, scanned(sub { every_second($client->zscan('scan-zset', $_[0])) }));
    },
);

$| = 1;
print "version $Redis::VERSION\n";
while (my ($name, $check) = splice @checks, 0, 2) {
    if ($name =~ /^(?:upgrade|claim|cut|lease)$/ && !$ENV{UPGRADE_PID}) {
        print "skip $name\n";
        next;
    }
    next if eval { $check->(); print "ok $name\n"; 1 };
    my $why = $@ =~ s/\s+/ /gr;
    print "FAIL $name $why\n";
}
