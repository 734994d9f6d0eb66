#include "storage/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *dueq_status_text(enum dueq_status status)
{
    switch (status) {
#define STATUS_TEXT(code, text)                                                                \
    case code:                                                                                 \
        return text;
        DUEQ_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

enum dueq_status dueq_fail(struct dueq_error *error, enum dueq_status status,
                           const char *format, ...)
{
    va_list arguments;

    if (error == NULL)
        return status;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    return status;
}
