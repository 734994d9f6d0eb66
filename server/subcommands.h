/* Subcommands of the program that are libraries of their own: main.c calls them, and they are
 * implemented elsewhere. */
#ifndef DUEQ_SUBCOMMANDS_H
#define DUEQ_SUBCOMMANDS_H

/* `dueq bench` (tools/bench/): a load generator for dueq, for a Redis delay queue of zset, hash
 * and Lua, and for beanstalkd, with the same work and the same client code, so that figures of
 * one run can be compared. argv[0] is "bench". Returns the exit status: 0, 1 (the run failed)
 * or 2 (usage). */
int bench_main(int argc, char **argv);

/* `dueq check` (tools/offline/): checks a data directory that no server uses, and prints each
 * finding. Returns the exit status: 0 sound, 1 damaged, 2 it could not be checked. */
int check_main(const char *dir);

/* `dueq dump`: writes everything in a directory that no server uses to standard output, as
 * lines of JSON. `dueq load`: makes a directory from such lines on standard input. Exit status:
 * 0; 1 the data or the dump is damaged; 2 it could not be done. */
int dump_main(const char *dir);
int load_main(const char *dir);

#endif
