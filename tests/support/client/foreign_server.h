/* Other people's servers as child processes, on a free port of 127.0.0.1: redis-server and
 * beanstalkd and mosquitto of Debian, and an HTTP server in Python. An error fails the running
 * test. foreign_server_cleanup kills all of them; the kernel does so, too, when the test
 * program ends. */
#ifndef DUEQ_FOREIGN_SERVER_H
#define DUEQ_FOREIGN_SERVER_H

#include <hiredis/hiredis.h>
#include <sys/types.h>

struct foreign_server {
    pid_t pid; /* 0: not running */
    int port;
};

/* Runs these words, the last one NULL, and waits until it listens. `port`: one of the words,
 * which becomes the port; it is chosen unless the server has one. */
void foreign_server_start(struct foreign_server *server, const char **words, const char **port);
/* Starts it and waits until it listens. password: NULL: none. */
void redis_server_start(struct foreign_server *server, const char *password);
/* At the port that it had, empty, without a password. */
void redis_server_restart(struct foreign_server *server);
void beanstalkd_start(struct foreign_server *server);
/* webhook.py, which says what it does, at the port that it had, if that is not 0. It takes
 * connections from now on, also before it runs and after it was killed. certificate, key: NULL:
 * no TLS. */
void webhook_start(struct foreign_server *server, const char *directory,
                   const char *certificate, const char *key);
/* At the port that it had, if that is not 0. configuration: a file, without a listener. */
void mosquitto_start(struct foreign_server *server, const char *configuration);
/* kill -9. */
void foreign_server_kill(struct foreign_server *server);
void foreign_server_cleanup(void);

/* A client, which the caller frees with redisFree. */
redisContext *foreign_server_client(const struct foreign_server *server);
/* A connected socket, for beanstalkd. */
int foreign_server_socket(const struct foreign_server *server);

#endif
