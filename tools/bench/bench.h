/* `dueq bench`: a load generator that speaks to dueq, to a Redis delay queue made of zset, hash
 * and Lua, and to beanstalkd, with the same work and the same client code, so that two figures
 * of one run can be put side by side. */
#ifndef DUEQ_BENCH_H
#define DUEQ_BENCH_H

/* argv[0] is the word "bench". Returns the exit status: 0, 1 (the run failed) or 2 (usage). */
int bench_main(int argc, char **argv);

#endif
