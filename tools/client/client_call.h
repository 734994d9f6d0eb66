/* Subcommands that are clients of a running server: `dueq push`, `dueq get` and others. Each is
 * an entry of the table in client_table.c, from which the help, the manual page and the
 * completion come. */
#ifndef DUEQ_CLIENT_CALL_H
#define DUEQ_CLIENT_CALL_H

#include "tools/online/online_client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What they end with; docs/commandline.md tells it. */
enum client_exit {
    CLIENT_DONE = 0,
    CLIENT_REFUSED = 1,     /* the server has said no, or output cannot be written */
    CLIENT_USAGE = 2,       /* the command line is wrong */
    CLIENT_NOTHING = 3,     /* no such job, or none that is due */
    CLIENT_UNREACHABLE = 4, /* no connection, or it was lost */
};

/* How the value of an option becomes arguments of the server's command. */
enum client_value {
    CLIENT_AS_IT_IS,
    CLIENT_MOMENT, /* a time as people write it, in unix ms */
    CLIENT_WORDS,  /* each word is an argument */
    CLIENT_EACH,   /* given once for each argument; a command has one such option, the last */
    CLIENT_FLAG,   /* no value: only the word */
    CLIENT_OWN,    /* of the subcommand itself: nothing is sent */
    CLIENT_OWN_FLAG,
};

struct client_option {
    const char *name;  /* without the dashes */
    const char *value; /* what help shows for it; NULL: it takes none */
    const char *word;  /* what the server calls it; NULL: it is not sent */
    enum client_value kind;
    const char *what;
};

struct client_call;
typedef int (*client_run_fn)(struct client_call *call);
/* Prints a reply. Returns the exit status. */
typedef int (*client_show_fn)(const struct client_call *call, const redisReply *reply);

struct client_command {
    const char *name, *arguments, *what;
    int least, most;    /* arguments; most -1: any number */
    const char *sends;  /* the server's command; NULL: `run` knows */
    const char *action; /* a word after the first argument; NULL: none */
    const char *says;   /* what has been done, in a word; NULL: it is said otherwise */
    const struct client_option *options; /* NULL: none of its own; the last one has no name */
    client_run_fn run;                   /* NULL: sends, and shows the reply */
    client_show_fn show;
    bool takes_program; /* "--" begins a program of the user and its arguments */
    bool takes_command; /* after the first argument there are no options */
    const char *more;   /* for the help, below the options; NULL: nothing */
};

extern const struct client_command client_table[];
extern const size_t client_table_size;
/* What all of them have: where the server is, and --json. */
extern const struct client_option client_shared_options[];

const struct client_command *client_find(const char *name); /* NULL: there is none */

/* A command line, and the connection. */
struct client_call {
    const struct client_command *command;
    struct online_options where;
    struct online_client *client; /* NULL until the first client_connect */
    bool json;
    const char **words; /* the arguments */
    size_t *sizes;
    int count;
    const char **each; /* values of the option CLIENT_EACH */
    int each_count;
    const char **values; /* of each option of the command; NULL: not given; a flag: "" */
    char **rest;         /* what stands after "--"; NULL: there is none */
    char *body;          /* that was read; freed with the call */
    char why[ONLINE_WHY];
};

/* Reads a command line. False: standard error says what is wrong with it. Release in any case.
 */
bool client_parse(struct client_call *call, const struct client_command *command, int argc,
                  char **argv);
void client_release(struct client_call *call);
const char *client_option(const struct client_call *call, const char *name);

/* The value of an option that is a duration, in ms. False: standard error says what is wrong.
 */
bool client_duration(const struct client_call *call, const char *name, int64_t otherwise,
                     int64_t least, int64_t most, int64_t *ret_ms);
/* The same of a number. */
bool client_number(const struct client_call *call, const char *name, int64_t otherwise,
                   int64_t least, int64_t most, int64_t *ret_number);
/* Readable when SIGTERM, SIGINT or SIGHUP comes, which are blocked in this thread and those
 * that begin later; one that was ignored stays so (nohup). The caller closes it. -1: there is
 * none.
 */
int client_open_signals(void);
/* Is a refusal of the login or of a command one that stays? */
bool client_is_final(const char *error);
/* Who claims: --worker, or host and process. */
const char *client_worker(const struct client_call *call);

/* What usage shows behind the arguments when it does not name the options there. */
const char *client_options_mark(const struct client_command *command);
/* Prints why the command line is wrong and what to do. Returns CLIENT_USAGE. */
int client_misused(const struct client_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* How many bytes from here on are one control character, which a terminal would obey; 0: none.
 */
size_t client_control_size(const char *text);
/* Prints what failed, and what to do about it. */
void client_complain(const struct client_call *call, const char *text);

/* A list of arguments that grows; an allocation that fails ends the program. */
struct client_request {
    const char **words;
    size_t *sizes;
    int count;
    char **owned;
    int owned_count;
};
void client_request_add(struct client_request *request, const char *word, size_t size);
void client_request_say(struct client_request *request, const char *word);
/* Keeps the text until the request is released. */
char *client_request_keep(struct client_request *request, char *text);
void client_request_release(struct client_request *request);
/* The command with its arguments and options. False: standard error says what is wrong. */
bool client_request_make(struct client_request *request, const struct client_call *call);

/* CLIENT_DONE, or another status after it has said why. */
int client_connect(struct client_call *call);
/* Connects if need be and asks. NULL: *ret_status, and standard error says why; errors of the
 * server are such failures, too. */
redisReply *client_ask(struct client_call *call, const struct client_request *request,
                       int *ret_status);
/* Sends the command and shows its reply. Returns the exit status. */
int client_send_and_show(struct client_call *call);
/* Is it an error? Then it has been told. */
bool client_told_error(const struct client_call *call, const redisReply *reply);

/* The body in words[at], which may be "-", or in --file. False: it has said why. */
bool client_read_body(struct client_call *call, int at);

void *client_allocate(void *old, size_t size); /* realloc; ends the program when it fails */

/* ---- commands with code of their own */

int client_push(struct client_call *call);
int client_list_topics(struct client_call *call);
int client_scan(struct client_call *call);
int client_config(struct client_call *call);
int client_work(struct client_call *call);
int client_forward(struct client_call *call);
int client_cli(struct client_call *call); /* of tools/cli/ */
int client_top(struct client_call *call); /* of tools/top/ */

int client_show_id(const struct client_call *call, const redisReply *reply);
int client_show_claimed(const struct client_call *call, const redisReply *reply);
int client_show_count(const struct client_call *call, const redisReply *reply);
int client_show_state(const struct client_call *call, const redisReply *reply);
int client_show_done(const struct client_call *call, const redisReply *reply);
int client_show_until(const struct client_call *call, const redisReply *reply);
int client_show_job(const struct client_call *call, const redisReply *reply);
int client_show_map(const struct client_call *call, const redisReply *reply);
int client_show_jobs(const struct client_call *call, const redisReply *reply);
int client_show_dead(const struct client_call *call, const redisReply *reply);
int client_show_redriven(const struct client_call *call, const redisReply *reply);
int client_show_workers(const struct client_call *call, const redisReply *reply);

#endif
