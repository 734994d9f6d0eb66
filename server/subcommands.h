/* Subcommands of the program that are libraries of their own: main.c calls them, and they are
 * implemented elsewhere. */
#ifndef DUEQ_SUBCOMMANDS_H
#define DUEQ_SUBCOMMANDS_H

#include <stdbool.h>
#include <stdio.h>

/* `dueq bench` (tools/bench/): a load generator for dueq, for a Redis delay queue of zset, hash
 * and Lua, and for beanstalkd, with the same work and the same client code, so that figures of
 * one run can be compared. argv[0] is "bench"; argv[1] "help" prints the options. Returns the
 * exit status: 0, 1 (the run failed) or 2 (usage). */
int bench_main(int argc, char **argv);

/* `dueq check` (tools/offline/): checks a data directory that no server uses, and prints each
 * finding. Returns the exit status: 0 sound, 1 damaged, 2 it could not be checked. */
int check_main(const char *dir);

/* `dueq dump`: writes everything in a directory that no server uses to standard output, as
 * lines of JSON. `dueq load`: makes a directory from such lines on standard input. Exit status:
 * 0; 1 the data or the dump is damaged; 2 it could not be done. */
int dump_main(const char *dir);
int load_main(const char *dir);

/* `dueq restore`: makes a data directory from a backup and archived segments. argv[0] is
 * "restore". Exit status as of dump. */
int restore_main(int argc, char **argv);

/* `dueq backup` (tools/online/): asks a running server for a backup and waits for it. argv[0]
 * is "backup". Exit status: 0 it is complete, 1 it has failed, 2 it was not begun. */
int backup_main(int argc, char **argv);

/* `dueq import` (tools/move/): reads another server that runs into a dueq that runs. argv[0] is
 * "import". Exit status: 0 all is there, 1 cut off, 2 not begun, 3 not all of it is there. */
int import_main(int argc, char **argv);

/* `dueq export`: a dueq that runs as lines of JSON, or into a Redis. argv[0] is "export". Exit
 * status as of import. */
int export_main(int argc, char **argv);

/* `dueq repair`: makes the directory `to`, which is missing or empty, of what can be read of
 * the damaged directory `from`, in which it changes nothing, and prints what is damaged and
 * what is lost. Exit status: 0 nothing was damaged; 1 something was, or nothing at all can be
 * read; 2 it could not be done. */
int repair_main(const char *from, const char *to);

/* `dueq push`, `dueq get` and others (tools/client/): clients of a running server, from one
 * table. argv[0] is the name of one that client_has. client_main returns the exit status;
 * client_help prints how one is used (false: there is none), client_print_list a line for each.
 */
bool client_has(const char *name);
int client_main(int argc, char **argv);
bool client_help(const char *name);
void client_print_list(FILE *to);

/* What each of these prints with --help. Completion reads the options in it: an option's line
 * begins with two blanks and "--". */
extern const char bench_usage[], backup_usage[], restore_usage[], import_usage[],
    export_usage[];

/* `dueq complete WORD ...`: prints what the last word may become, one a line, with what it
 * means after a tab; "<files>" and "<directories>" stand for such names. For the shells. */
int complete_main(int argc, char **argv);
/* Of main.c: the text with a line for each subcommand that is no client. */
const char *program_usage(void);

#endif
