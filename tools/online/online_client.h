/* A connection of a subcommand to a running server, with calls that wait. */
#ifndef DUEQ_ONLINE_CLIENT_H
#define DUEQ_ONLINE_CLIENT_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct online_options {
    const char *host; /* 127.0.0.1 */
    const char *port; /* 6379 */
    const char *unix_path;
    bool unix_said;       /* on the command line: a host beside it means nothing */
    const char *user;     /* with a password only */
    const char *password; /* NULL: no AUTH */
    bool tls;
    const char *ca, *cert, *key;      /* files; ca: NULL: the system's */
    bool insecure;                    /* the server's certificate is not checked */
    const char *password_file;        /* instead of `password`: its first line */
    const struct online_client *like; /* connected with the same options: its files of TLS are
                                         not read again; NULL: there is none */
    int patience_ms; /* how long a connection, a login and each wait for bytes may take; 0: ever
                      */
};

enum { ONLINE_BODY_MAX = 512 << 20 }; /* more the server does not take */

/* The defaults, and what DUEQ_HOST, DUEQ_PORT, DUEQ_UNIX, DUEQ_USER, and DUEQ_PASSWORD or
 * REDISCLI_AUTH say. */
void online_take_environment(struct online_options *options);

/* Takes the value of an option that has one: "host", "port", "unix", "user", "password-file",
 * "cacert", "cert", "key". A host or a port of the command line takes the place of a unix
 * socket of the environment. False: it is none of these. */
bool online_take_text(struct online_options *options, const char *name, const char *value);
/* The same for "tls" and "insecure", which have none. */
bool online_take_flag(struct online_options *options, const char *name);

struct online_client;

/* Connects and logs in. NULL: *why says why, 256 bytes. */
struct online_client *online_connect(const struct online_options *options, char *why);
void online_close(struct online_client *client); /* NULL is fine */
/* Was it lost in a call that has failed since? NULL: no. */
bool online_is_lost(const struct online_client *client);
/* The reply, which the caller frees with freeReplyObject; NULL: the connection has failed, and
 * *why says why. */
redisReply *online_ask(struct online_client *client, int count, const char **arguments,
                       char *why);

/* Sends requests as they are on the wire. False: the connection has failed. */
bool online_send(struct online_client *client, const char *bytes, size_t size, char *why);
/* The next reply. NULL: the connection has failed. */
redisReply *online_hear(struct online_client *client, char *why);

/* For those who read replies themselves: as read and as send. They may make the descriptor one
 * that does not block; -1 with EAGAIN means what it means there. */
ssize_t online_read(struct online_client *client, void *bytes, size_t size);
ssize_t online_write(struct online_client *client, const void *bytes, size_t size);
/* Is there something to read of which poll knows nothing, because TLS has decrypted it? */
bool online_has_more(const struct online_client *client);

enum { ONLINE_WHY = 256 };

/* As online_ask, with arguments of any bytes. */
redisReply *online_ask_sized(struct online_client *client, int count, const char **arguments,
                             const size_t *sizes, char *why);
/* Sends only; each reply is to be read with online_hear. False: the connection has failed. */
bool online_say(struct online_client *client, int count, const char **arguments,
                const size_t *sizes, char *why);
/* For poll: it becomes readable when a reply comes. */
int online_descriptor(const struct online_client *client);

#endif
