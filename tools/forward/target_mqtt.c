/* An MQTT broker, by libmosquitto: QoS 1, and the id as a user property of MQTT 5. */
#include "tools/terminal/library.h"
#include "tools/forward/target.h"
#include "tools/forward/target_url.h"

#include "tools/client/client_log.h"
#include "tools/move/place.h"

#include <mosquitto.h>
#if LIBMOSQUITTO_VERSION_NUMBER < 2001000 /* later ones include it, and warn of who does */
#include <mqtt_protocol.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_IDS = 65536, KEEPALIVE_S = 60, STEP_MS = 20, FIRST_FAILURE = 128 };

/* ---- libmosquitto */

static struct {
    __typeof__(&mosquitto_lib_init) init;
    __typeof__(&mosquitto_new) new;
    __typeof__(&mosquitto_destroy) destroy;
    __typeof__(&mosquitto_int_option) int_option;
    __typeof__(&mosquitto_username_pw_set) login;
    __typeof__(&mosquitto_tls_set) tls_set;
    __typeof__(&mosquitto_tls_insecure_set) tls_insecure;
    __typeof__(&mosquitto_connect_async) connect;
    __typeof__(&mosquitto_disconnect) disconnect;
    __typeof__(&mosquitto_loop) loop;
    __typeof__(&mosquitto_publish_v5) publish;
    __typeof__(&mosquitto_connect_v5_callback_set) on_connect;
    __typeof__(&mosquitto_disconnect_v5_callback_set) on_disconnect;
    __typeof__(&mosquitto_publish_v5_callback_set) on_publish;
    __typeof__(&mosquitto_property_add_string_pair) add_property;
    __typeof__(&mosquitto_property_free_all) free_properties;
    __typeof__(&mosquitto_pub_topic_check) check_topic;
    __typeof__(&mosquitto_strerror) error;
    __typeof__(&mosquitto_reason_string) reason;
    __typeof__(&mosquitto_connack_string) connack;
} mqtt;

static bool open_mosquitto(char *why)
{
    const struct library_function functions[] = {
        {"mosquitto_lib_init", &mqtt.init},
        {"mosquitto_new", &mqtt.new},
        {"mosquitto_destroy", &mqtt.destroy},
        {"mosquitto_int_option", &mqtt.int_option},
        {"mosquitto_username_pw_set", &mqtt.login},
        {"mosquitto_tls_set", &mqtt.tls_set},
        {"mosquitto_tls_insecure_set", &mqtt.tls_insecure},
        {"mosquitto_connect_async", &mqtt.connect},
        {"mosquitto_disconnect", &mqtt.disconnect},
        {"mosquitto_loop", &mqtt.loop},
        {"mosquitto_publish_v5", &mqtt.publish},
        {"mosquitto_connect_v5_callback_set", &mqtt.on_connect},
        {"mosquitto_disconnect_v5_callback_set", &mqtt.on_disconnect},
        {"mosquitto_publish_v5_callback_set", &mqtt.on_publish},
        {"mosquitto_property_add_string_pair", &mqtt.add_property},
        {"mosquitto_property_free_all", &mqtt.free_properties},
        {"mosquitto_pub_topic_check", &mqtt.check_topic},
        {"mosquitto_strerror", &mqtt.error},
        {"mosquitto_reason_string", &mqtt.reason},
        {"mosquitto_connack_string", &mqtt.connack},
    };

    if (!library_open("libmosquitto.so.1", "libmosquitto1", functions,
                      sizeof(functions) / sizeof(functions[0]), why, TARGET_WHY))
        return false;
    snprintf(why, TARGET_WHY, "libmosquitto does not start");
    return mqtt.init() == MOSQ_ERR_SUCCESS;
}

/* ---- the target */

struct mqtt_target {
    struct target target;
    const struct target_options *options;
    struct target_url url;
    struct place place;
    bool tls, retain;
    int version;
    char *password;
    struct mosquitto *client; /* NULL: there is no connection */
    bool connected;
    struct forward_job *jobs[MESSAGE_IDS]; /* by the number of the message */
    int busy;
    int64_t heard_at;
};

static struct mqtt_target *of(struct target *target)
{
    return (struct mqtt_target *)target;
}

/* ---- what the broker says */

static void take_connack(struct mosquitto *client, void *arg, int code, int flags,
                         const mosquitto_property *properties)
{
    struct mqtt_target *target = arg;

    (void)client;
    (void)flags;
    (void)properties;
    target->connected = code == 0;
    if (code != 0)
        target_leave(&target->target, "%s: %s", target->place.name,
                     target->version == MQTT_PROTOCOL_V5 ? mqtt.reason(code)
                                                         : mqtt.connack(code));
}

static void take_end(struct mosquitto *client, void *arg, int code,
                     const mosquitto_property *properties)
{
    struct mqtt_target *target = arg;

    (void)client;
    (void)properties;
    target->connected = false;
    if (!target->target.away)
        target_leave(&target->target, "%s: %s", target->place.name,
                     code >= FIRST_FAILURE ? mqtt.reason(code) : "the connection is closed");
}

static enum outcome judge(int reason)
{
    if (reason < FIRST_FAILURE)
        return OUTCOME_SENT;
    if (reason == MQTT_RC_NOT_AUTHORIZED)
        return OUTCOME_AWAY; /* as for all others */
    return reason == MQTT_RC_TOPIC_NAME_INVALID || reason == MQTT_RC_PACKET_TOO_LARGE ||
                   reason == MQTT_RC_PAYLOAD_FORMAT_INVALID
               ? OUTCOME_REFUSED
               : OUTCOME_LATER;
}

static void take_puback(struct mosquitto *client, void *arg, int message, int reason,
                        const mosquitto_property *properties)
{
    struct mqtt_target *target = arg;
    struct forward_job *job = target->jobs[message % MESSAGE_IDS];
    enum outcome outcome = judge(reason);

    (void)client;
    (void)properties;
    if (job == NULL)
        return;
    target->jobs[message % MESSAGE_IDS] = NULL;
    target->busy--;
    target->heard_at = client_monotonic();
    job_settle(job, outcome, "%s", outcome == OUTCOME_SENT ? "" : mqtt.reason(reason));
    if (outcome == OUTCOME_AWAY)
        target_leave(&target->target, "%s: %s", target->place.name, mqtt.reason(reason));
}

/* ---- the URL */

/* The place as the other tools read it, but a single word before the host is the user. */
static bool read_place(struct mqtt_target *target, const char **ret_why)
{
    struct place *place = &target->place;
    struct online_options *where = &place->options;
    char text[2 * URL_TEXT];
    bool has_port;

    snprintf(text, sizeof(text), "redis://%s", target->url.place);
    if (!place_parse(place, text, ret_why))
        return false;
    if (where->user == NULL) {
        where->user = where->password;
        where->password = NULL;
    }
    target->tls = strcmp(target->url.scheme, "mqtts") == 0;
    has_port = where->port >= place->text && where->port < place->text + sizeof(place->text);
    if (!has_port)
        where->port = target->tls ? "8883" : "1883";
    snprintf(place->name, sizeof(place->name), "%.900s:%.20s", where->host, where->port);
    return true;
}

static bool read_url(struct mqtt_target *target, char *why)
{
    static const char *const known[] = {"v", "retain", NULL};
    const char *wrong = "its path has a % that is not the beginning of %XX", *version;
    bool right = target_url_parse(&target->url, target->options->url, known, &wrong) &&
                 place_unescape(target->url.path) && read_place(target, &wrong);

    snprintf(why, TARGET_WHY, "%s", right ? "its path is no topic to publish to" : wrong);
    if (!right || target->url.path[0] == '\0' ||
        mqtt.check_topic(target->url.path) != MOSQ_ERR_SUCCESS)
        return false;
    target->retain = target_url_option(&target->url, "retain") != NULL;
    version = target_url_option(&target->url, "v");
    target->version =
        version == NULL || strcmp(version, "5") == 0 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311;
    snprintf(why, TARGET_WHY, "v is 5 or 3.1.1");
    return version == NULL || strcmp(version, "5") == 0 || strcmp(version, "3.1.1") == 0;
}

/* The first line of a file, or what the URL and the environment say. */
static bool read_password(struct mqtt_target *target, char *why)
{
    const char *path = target->options->password_file, *text = target->place.options.password;
    char line[1024] = "";
    FILE *file = path == NULL ? NULL : fopen(path, "re");

    snprintf(why, TARGET_WHY, "no password in %.200s", path == NULL ? "" : path);
    if (path != NULL && (file == NULL || fgets(line, sizeof(line), file) == NULL))
        text = NULL;
    else if (path != NULL)
        text = line;
    else if (text == NULL)
        text = getenv("DUEQ_OTHER_PASSWORD");
    if (file != NULL)
        fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    target->password = text == NULL ? NULL : strdup(text);
    return path == NULL || target->password != NULL;
}

static void shut(struct target *base)
{
    struct mqtt_target *target = of(base);

    if (target->client == NULL)
        return;
    mqtt.disconnect(target->client);
    mqtt.destroy(target->client);
    target->client = NULL;
    target->connected = false;
    memset(target->jobs, 0, sizeof(target->jobs));
    target->busy = 0;
}

static void free_target(struct target *base)
{
    shut(base);
    free(of(base)->password);
    free(base);
}

static struct target *new (const struct target_options *options, char *why)
{
    struct mqtt_target *target;

    if (!open_mosquitto(why))
        return NULL;
    target = calloc(1, sizeof(*target));
    snprintf(why, TARGET_WHY, "out of memory");
    if (target == NULL)
        return NULL;
    target->target.kind = &target_mqtt;
    target->options = options;
    if (read_url(target, why) && read_password(target, why))
        return &target->target;
    free_target(&target->target);
    return NULL;
}

/* ---- the connection */

static int set_tls(struct mqtt_target *target)
{
    const struct target_options *options = target->options;
    int code =
        mqtt.tls_set(target->client, options->ca, options->ca == NULL ? "/etc/ssl/certs" : NULL,
                     options->cert, options->key, NULL);

    if (code == MOSQ_ERR_SUCCESS && options->insecure)
        code = mqtt.tls_insecure(target->client, true);
    return code;
}

static int begin_connection(struct mqtt_target *target)
{
    const struct online_options *where = &target->place.options;
    int code;

    mqtt.int_option(target->client, MOSQ_OPT_PROTOCOL_VERSION, target->version);
    mqtt.on_connect(target->client, take_connack);
    mqtt.on_disconnect(target->client, take_end);
    mqtt.on_publish(target->client, take_puback);
    code = where->user == NULL && target->password == NULL
               ? MOSQ_ERR_SUCCESS
               : mqtt.login(target->client, where->user, target->password);
    if (code == MOSQ_ERR_SUCCESS && target->tls)
        code = set_tls(target);
    return code != MOSQ_ERR_SUCCESS
               ? code
               : mqtt.connect(target->client, where->host, atoi(where->port), KEEPALIVE_S);
}

/* Until the broker has taken or refused it. */
static int await_connack(struct mqtt_target *target)
{
    int64_t end = client_monotonic() + target->options->timeout_ms;
    int code = MOSQ_ERR_SUCCESS;

    while (code == MOSQ_ERR_SUCCESS && !target->connected && !target->target.away) {
        if (client_monotonic() > end)
            return MOSQ_ERR_CONN_LOST;
        code = mqtt.loop(target->client, STEP_MS, 1);
    }
    return code;
}

static bool open_target(struct target *base)
{
    struct mqtt_target *target = of(base);
    int code;

    target->client = mqtt.new(NULL, true, target);
    if (target->client == NULL)
        return target_leave(base, "out of memory");
    base->away = false;
    code = begin_connection(target);
    if (code == MOSQ_ERR_SUCCESS)
        code = await_connack(target);
    if (target->connected)
        return true;
    if (!base->away || base->why[0] == '\0')
        target_leave(base, "%s: %s", target->place.name, mqtt.error(code));
    shut(base);
    return false;
}

/* ---- jobs */

static void lose(struct mqtt_target *target)
{
    for (int i = 0; i < MESSAGE_IDS && target->busy > 0; i++) {
        if (target->jobs[i] == NULL)
            continue;
        job_settle(target->jobs[i], OUTCOME_AWAY, "%.200s", target->target.why);
        target->jobs[i] = NULL;
        target->busy--;
    }
}

static int publish(struct mqtt_target *target, const struct forward_job *job, int *ret_message)
{
    char room[TARGET_ID], text[TARGET_ESCAPED];
    mosquitto_property *properties = NULL;
    int code = MOSQ_ERR_SUCCESS;

    if (target->version == MQTT_PROTOCOL_V5) {
        target_escape(target_id(target->options, job, room), text);
        code = mqtt.add_property(&properties, MQTT_PROP_USER_PROPERTY, "dueq-id", text);
        target_escape(target->options->topic, text);
        if (code == MOSQ_ERR_SUCCESS)
            code = mqtt.add_property(&properties, MQTT_PROP_USER_PROPERTY, "dueq-topic", text);
    }
    if (code == MOSQ_ERR_SUCCESS)
        code = job->body.size > MQTT_MAX_PAYLOAD
                   ? MOSQ_ERR_PAYLOAD_SIZE
                   : mqtt.publish(target->client, ret_message, target->url.path,
                                  (int)job->body.size, job->body.data, 1, target->retain,
                                  properties);
    mqtt.free_properties(&properties);
    return code;
}

static bool begin(struct target *base, struct forward_job *job)
{
    struct mqtt_target *target = of(base);
    int message = 0, code = publish(target, job, &message);

    if (code == MOSQ_ERR_SUCCESS) {
        if (target->busy++ == 0)
            target->heard_at = client_monotonic();
        target->jobs[message % MESSAGE_IDS] = job;
    } else if (code == MOSQ_ERR_OVERSIZE_PACKET || code == MOSQ_ERR_PAYLOAD_SIZE) {
        job_settle(job, OUTCOME_REFUSED, "%s", mqtt.error(code));
    } else {
        target_leave(base, "%s: %s", target->place.name, mqtt.error(code));
        job_settle(job, OUTCOME_AWAY, "%s", mqtt.error(code));
    }
    return true;
}

static void check_silence(struct mqtt_target *target)
{
    if (target->busy > 0 && !target->target.away &&
        client_monotonic() - target->heard_at > target->options->timeout_ms)
        target_leave(&target->target, "%s: the broker does not answer", target->place.name);
}

/* Also without jobs: then it keeps the connection alive. */
static void turn(struct target *base, int wait_ms)
{
    struct mqtt_target *target = of(base);
    int64_t end = client_monotonic() + wait_ms, left = wait_ms;
    int busy = target->busy, code;

    do {
        code = mqtt.loop(target->client, (int)left, 1);
        left = end - client_monotonic();
    } while (code == MOSQ_ERR_SUCCESS && target->busy == busy && left > 0);
    for (int i = 0;
         i < MESSAGE_IDS && code == MOSQ_ERR_SUCCESS && target->busy > 0 && target->busy < busy;
         i++) { /* what has come as well */
        busy = target->busy;
        code = mqtt.loop(target->client, 0, 1);
    }
    if (code != MOSQ_ERR_SUCCESS && !base->away)
        target_leave(base, "%s: %s", target->place.name, mqtt.error(code));
    check_silence(target);
    if (base->away)
        lose(target);
}

const struct target_kind target_mqtt = {
    .schemes = "mqtt mqtts",
    .new = new,
    .free = free_target,
    .open = open_target,
    .shut = shut,
    .begin = begin,
    .turn = turn,
};
