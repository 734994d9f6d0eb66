/* Errors of commands as statuses of HTTP. */
#ifndef DUEQ_API_ERRORS_H
#define DUEQ_API_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

/* The first word of the error decides. at_login: of the errors that a login may get. */
int api_status_of(const char *error, size_t size, bool at_login);

#endif
