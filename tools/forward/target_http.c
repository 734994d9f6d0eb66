/* An HTTP(S) server that takes each job as a POST, by libcurl. */
#include "tools/terminal/library.h"
#include "tools/forward/signature.h"
#include "tools/forward/target.h"

#include "tools/client/client_log.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FILE_MOST = 16 * 1024,
    REPLY_KEPT = 120,
    HEADER_NAMES = 40,
    BYTES_A_MS = 1 /* a line that is slower is none */
};

/* ---- libcurl */

static struct {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&(curl_easy_setopt)) set;
    __typeof__(&(curl_easy_getinfo)) get;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_strerror) error;
    __typeof__(&curl_url) url;
    __typeof__(&curl_url_set) url_set;
    __typeof__(&curl_url_cleanup) url_cleanup;
    __typeof__(&curl_slist_append) append;
    __typeof__(&curl_slist_free_all) free_list;
    __typeof__(&curl_multi_init) multi_init;
    __typeof__(&curl_multi_cleanup) multi_cleanup;
    __typeof__(&curl_multi_add_handle) add;
    __typeof__(&curl_multi_remove_handle) remove;
    __typeof__(&curl_multi_perform) perform;
    __typeof__(&curl_multi_poll) poll;
    __typeof__(&curl_multi_info_read) read;
} curl;

static bool open_curl(char *why)
{
    const struct library_function functions[] = {
        {"curl_global_init", &curl.global_init},
        {"curl_easy_init", &curl.easy_init},
        {"curl_easy_setopt", &curl.set},
        {"curl_easy_getinfo", &curl.get},
        {"curl_easy_cleanup", &curl.easy_cleanup},
        {"curl_easy_strerror", &curl.error},
        {"curl_url", &curl.url},
        {"curl_url_set", &curl.url_set},
        {"curl_url_cleanup", &curl.url_cleanup},
        {"curl_slist_append", &curl.append},
        {"curl_slist_free_all", &curl.free_list},
        {"curl_multi_init", &curl.multi_init},
        {"curl_multi_cleanup", &curl.multi_cleanup},
        {"curl_multi_add_handle", &curl.add},
        {"curl_multi_remove_handle", &curl.remove},
        {"curl_multi_perform", &curl.perform},
        {"curl_multi_poll", &curl.poll},
        {"curl_multi_info_read", &curl.read},
    };

    if (!library_open("libcurl.so.4", "libcurl4", functions,
                      sizeof(functions) / sizeof(functions[0]), why, TARGET_WHY))
        return false;
    snprintf(why, TARGET_WHY, "libcurl does not start");
    return curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* ---- the target */

struct request {
    CURL *easy;
    struct forward_job *job; /* NULL: free */
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    char reply[REPLY_KEPT + 1]; /* how it begins */
    size_t reply_size;
};

struct http_target {
    struct target target;
    const struct target_options *options;
    CURLM *multi;
    char *secret, *more_headers, *password;
    struct request *requests;
    int count, busy;
};

static struct http_target *of(struct target *target)
{
    return (struct http_target *)target;
}

/* libcurl itself looks at it with the first request only. */
static bool check_url(const char *text, char *why)
{
    CURLU *url = curl.url();
    bool right = url != NULL && curl.url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK;

    if (url != NULL)
        curl.url_cleanup(url);
    snprintf(why, TARGET_WHY, "it is no URL");
    return right;
}

/* ---- its files */

/* The file as a text, without the line feeds at its end. NULL: `why`. */
static char *read_text(const char *path, char *why)
{
    char *text = calloc(1, FILE_MOST + 1);
    FILE *file = fopen(path, "re");
    size_t size = file == NULL || text == NULL ? 0 : fread(text, 1, FILE_MOST + 1, file);

    snprintf(why, TARGET_WHY, "%.200s: %s", path,
             file == NULL       ? strerror(errno)
             : size > FILE_MOST ? "it is too long"
                                : "it is empty");
    if (file != NULL)
        fclose(file);
    while (size > 0 && size <= FILE_MOST && strchr("\r\n", text[size - 1]) != NULL)
        text[--size] = '\0';
    if (size > 0 && size <= FILE_MOST)
        return text;
    free(text);
    return NULL;
}

/* Lines become strings, one behind the other. */
static bool split_headers(char *text, char *why)
{
    size_t size = strlen(text);

    for (char *line = text; line < text + size; line += strlen(line) + 1) {
        line[strcspn(line, "\n")] = '\0';
        line[strcspn(line, "\r")] = '\0';
        snprintf(why, TARGET_WHY, "a line of --header-file is no header: Name: value");
        if (line[0] != '\0' && (strchr(line, ':') == NULL || line[0] == ':'))
            return false;
    }
    return true;
}

static bool read_files(struct http_target *target, char *why)
{
    const struct target_options *options = target->options;
    const char *other = getenv("DUEQ_OTHER_PASSWORD");
    char *line;

    if (options->secret_file != NULL &&
        (target->secret = read_text(options->secret_file, why)) == NULL)
        return false;
    if (options->password_file != NULL)
        target->password = read_text(options->password_file, why);
    else if (other != NULL)
        target->password = strdup(other);
    if (options->password_file != NULL && target->password == NULL)
        return false;
    line = target->password == NULL ? NULL : strpbrk(target->password, "\r\n");
    if (line != NULL)
        *line = '\0';
    if (options->header_file == NULL)
        return true;
    target->more_headers = read_text(options->header_file, why);
    return target->more_headers != NULL && split_headers(target->more_headers, why);
}

/* ---- requests */

static size_t keep_reply(char *bytes, size_t one, size_t size, void *arg)
{
    struct request *request = arg;
    size_t room = REPLY_KEPT - request->reply_size,
           part = one * size < room ? one * size : room;

    memcpy(request->reply + request->reply_size, bytes, part);
    request->reply_size += part;
    request->reply[request->reply_size] = '\0';
    return one * size;
}

static bool make_request(struct http_target *target, struct request *request)
{
    const struct target_options *options = target->options;
    CURL *easy = request->easy = curl.easy_init();

    if (easy == NULL)
        return false;
    curl.set(easy, CURLOPT_PRIVATE, request);
    curl.set(easy, CURLOPT_ERRORBUFFER, request->error);
    curl.set(easy, CURLOPT_NOSIGNAL, 1L);
    curl.set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.set(easy, CURLOPT_WRITEFUNCTION, keep_reply);
    curl.set(easy, CURLOPT_WRITEDATA, request);
    curl.set(easy, CURLOPT_USERAGENT, "dueq/" DUEQ_VERSION);
    curl.set(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->timeout_ms);
    if (options->ca != NULL)
        curl.set(easy, CURLOPT_CAINFO, options->ca);
    if (options->cert != NULL)
        curl.set(easy, CURLOPT_SSLCERT, options->cert);
    if (options->key != NULL)
        curl.set(easy, CURLOPT_SSLKEY, options->key);
    if (options->insecure) {
        curl.set(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl.set(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return curl.set(easy, CURLOPT_URL, options->url) == CURLE_OK &&
           (target->password == NULL ||
            curl.set(easy, CURLOPT_PASSWORD, target->password) == CURLE_OK);
}

static void free_target(struct target *base)
{
    struct http_target *target = of(base);

    for (int i = 0; i < target->count; i++)
        if (target->requests[i].easy != NULL)
            curl.easy_cleanup(target->requests[i].easy);
    if (target->multi != NULL)
        curl.multi_cleanup(target->multi);
    free(target->requests);
    free(target->secret);
    free(target->password);
    free(target->more_headers);
    free(target);
}

static bool make_requests(struct http_target *target, char *why)
{
    target->requests = calloc((size_t)target->options->parallel, sizeof(*target->requests));
    target->multi = curl.multi_init();
    snprintf(why, TARGET_WHY, "out of memory");
    if (target->requests == NULL || target->multi == NULL)
        return false;
    for (; target->count < target->options->parallel; target->count++)
        if (!make_request(target, &target->requests[target->count]))
            return false;
    return true;
}

static struct target *new (const struct target_options *options, char *why)
{
    struct http_target *target;

    if (!open_curl(why))
        return NULL;
    target = calloc(1, sizeof(*target));
    snprintf(why, TARGET_WHY, "out of memory");
    if (target == NULL)
        return NULL;
    target->target.kind = &target_http;
    target->options = options;
    if (check_url(options->url, why) && read_files(target, why) && make_requests(target, why))
        return &target->target;
    free_target(&target->target);
    return NULL;
}

/* There is no connection before the first request. */
static bool open_target(struct target *base)
{
    (void)base;
    return true;
}

/* ---- a job */

static bool add_line(struct request *request, const char *name, const char *value)
{
    char line[TARGET_ESCAPED + HEADER_NAMES];
    struct curl_slist *list;

    snprintf(line, sizeof(line), "%s%s%s", name, value == NULL ? "" : ": ",
             value == NULL ? "" : value);
    list = curl.append(request->headers, line);
    if (list != NULL)
        request->headers = list;
    return list != NULL;
}

static bool add_bytes(struct request *request, const char *name, struct dueq_slice value)
{
    char text[TARGET_ESCAPED];

    target_escape(value, text);
    return add_line(request, name, text);
}

static bool add_more(const struct http_target *target, struct request *request)
{
    const char *line = target->more_headers;
    struct curl_slist *list;

    for (; line != NULL && line[0] != '\0'; line += strlen(line) + 1) {
        list = curl.append(request->headers, line);
        if (list == NULL)
            return false;
        request->headers = list;
    }
    return true;
}

static bool add_headers(const struct http_target *target, struct request *request,
                        const struct forward_job *job)
{
    const struct target_options *options = target->options;
    char room[TARGET_ID], text[SIGNATURE_TEXT], attempt[32];
    struct dueq_slice id = target_id(options, job, room);

    snprintf(attempt, sizeof(attempt), "%lld", job->attempt);
    if (target->secret != NULL)
        signature_write(dueq_slice(target->secret, strlen(target->secret)), time(NULL),
                        job->body, text);
    return add_line(request, "Content-Type", options->content_type) &&
           add_line(request, "Expect:", NULL) && /* no question before the body */
           add_bytes(request, "Dueq-Topic", options->topic) &&
           add_bytes(request, "Dueq-Id", id) && add_bytes(request, "Idempotency-Key", id) &&
           add_line(request, "Dueq-Attempt", attempt) &&
           (target->secret == NULL || add_line(request, "Dueq-Signature", text)) &&
           add_more(target, request);
}

static struct request *free_request(struct http_target *target)
{
    for (int i = 0; i < target->count; i++)
        if (target->requests[i].job == NULL)
            return &target->requests[i];
    return NULL;
}

static void end_request(struct http_target *target, struct request *request)
{
    curl.remove(target->multi, request->easy);
    curl.free_list(request->headers);
    request->headers = NULL;
    request->job = NULL;
    target->busy--;
}

static bool begin(struct target *base, struct forward_job *job)
{
    struct http_target *target = of(base);
    struct request *request = free_request(target);

    if (request == NULL)
        return false;
    request->job = job;
    request->reply[0] = request->error[0] = '\0';
    request->reply_size = 0;
    target->busy++;
    curl.set(request->easy, CURLOPT_POST, 1L);
    curl.set(request->easy, CURLOPT_POSTFIELDS, job->body.size == 0 ? "" : job->body.data);
    curl.set(request->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)job->body.size);
    curl.set(request->easy, CURLOPT_TIMEOUT_MS,
             (long)(target->options->timeout_ms + (int64_t)job->body.size / BYTES_A_MS));
    if (!add_headers(target, request, job) ||
        curl.set(request->easy, CURLOPT_HTTPHEADER, request->headers) != CURLE_OK ||
        curl.add(target->multi, request->easy) != CURLM_OK) {
        end_request(target, request);
        job_settle(job, OUTCOME_LATER, "out of memory");
    }
    return true;
}

/* ---- what comes back */

/* Of the whole server, more than of this job. */
static bool is_away(long status)
{
    return status / 100 == 3 || status == 407 || status == 429 || status == 502 ||
           status == 503 || status == 504;
}

static void take_status(struct http_target *target, struct request *request)
{
    struct forward_job *job = request->job;
    curl_off_t wait = 0;
    long status = 0;
    enum outcome outcome;

    curl.get(request->easy, CURLINFO_RESPONSE_CODE, &status);
    curl.get(request->easy, CURLINFO_RETRY_AFTER, &wait);
    if (wait > 86400)
        wait = 86400;
    outcome = status / 100 == 2                                     ? OUTCOME_SENT
              : is_away(status)                                     ? OUTCOME_AWAY
              : status == 408 || status == 425 || status / 100 == 5 ? OUTCOME_LATER
                                                                    : OUTCOME_REFUSED;
    job->later_ms = wait * 1000;
    if (outcome == OUTCOME_SENT)
        job_settle(job, outcome, "%s", "");
    else
        job_settle(job, outcome, "HTTP %ld%s%s", status, request->reply[0] == '\0' ? "" : ": ",
                   request->reply);
    if (outcome != OUTCOME_AWAY)
        return;
    target_leave(&target->target, "it answers HTTP %ld%s", status,
                 status / 100 == 3 ? ", and redirects are not followed" : "");
    if (wait * 1000 > target->target.away_ms)
        target->target.away_ms = wait * 1000;
}

/* Who has the request and does not answer may have trouble with this job alone. */
static void take_failure(struct http_target *target, struct request *request, CURLcode code)
{
    const char *why = request->error[0] != '\0' ? request->error : curl.error(code);
    curl_off_t sent = 0;

    curl.get(request->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
    if (code == CURLE_OPERATION_TIMEDOUT && sent > 0) {
        job_settle(request->job, OUTCOME_LATER, "%.200s", why);
        return;
    }
    job_settle(request->job, OUTCOME_AWAY, "%.200s", why);
    target_leave(&target->target, "%s", why);
}

static bool take_results(struct http_target *target)
{
    bool any = false;
    CURLMsg *message;
    int left;

    while ((message = curl.read(target->multi, &left)) != NULL) {
        struct request *request = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl.get(message->easy_handle, CURLINFO_PRIVATE, &request);
        if (message->data.result == CURLE_OK)
            take_status(target, request);
        else
            take_failure(target, request, message->data.result);
        end_request(target, request);
        any = true;
    }
    return any;
}

static void turn(struct target *base, int wait_ms)
{
    struct http_target *target = of(base);
    int64_t end = client_monotonic() + wait_ms, left;
    int running;

    curl.perform(target->multi, &running);
    while (!take_results(target) && target->busy > 0 && (left = end - client_monotonic()) > 0) {
        curl.poll(target->multi, NULL, 0, (int)left, NULL);
        curl.perform(target->multi, &running);
    }
}

/* What is under way is given up. */
static void shut(struct target *base)
{
    struct http_target *target = of(base);

    for (int i = 0; i < target->count; i++)
        if (target->requests[i].job != NULL)
            end_request(target, &target->requests[i]);
}

const struct target_kind target_http = {
    .schemes = "http https",
    .new = new,
    .free = free_target,
    .open = open_target,
    .shut = shut,
    .begin = begin,
    .turn = turn,
};
