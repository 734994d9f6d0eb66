#include "tests/support/client/event_listener.h"

#include "server/config/keyspace_events.h"
#include "tests/support/client/raw_client.h"

#include <stdlib.h>
#include <string.h>

struct connection *event_listener_new(struct command_runner *runner)
{
    struct connection *listener = runner_connect(runner);

    runner->server.config.notify_keyspace_events = EVENT_ALL | EVENT_KEYEVENT;
    runner_expect_of(runner, listener, "[\"psubscribe\" *]", "PSUBSCRIBE __keyevent*");
    return listener;
}

static void print_event(FILE *out, struct raw_client *raw)
{
    char event[64], key[256], *text = raw_reply(raw);

    if (sscanf(text,
               "[\"pmessage\" \"__keyevent*\" \"__keyevent@%*u__:%63[^\"]\" \"%255[^\"]\"]",
               event, key) == 2)
        fprintf(out, "%s%s %s", ftell(out) > 0 ? ", " : "", event, key);
    else
        fprintf(out, "?%s", text);
    free(text);
}

static char *take_events(struct connection *listener)
{
    size_t size = buffer_size(&listener->output), text_size;
    char *text = NULL;
    FILE *out = open_memstream(&text, &text_size);
    int next;

    if (size > 0) {
        struct raw_client raw = {-1, fmemopen(buffer_content(&listener->output), size, "r")};

        while ((next = fgetc(raw.input)) != EOF) {
            ungetc(next, raw.input);
            print_event(out, &raw);
        }
        fclose(raw.input);
        buffer_clear(&listener->output);
    }
    fclose(out);
    return text;
}

void event_listener_expect_at(const char *file, int line, struct connection *listener,
                              const char *events)
{
    char *heard = take_events(listener);

    if (strcmp(heard, events) != 0)
        fail_at(file, line, "expected the events: %s\n              got: %s", events, heard);
    free(heard);
}
