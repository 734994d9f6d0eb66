/* Reads lines of a configuration file. Only files of config/ include this. */
#ifndef DUEQ_CONFIG_FILE_H
#define DUEQ_CONFIG_FILE_H

#include "server/config/config.h"

#include <stdio.h>

/* Is the line empty, or only a comment? */
bool config_file_is_comment(const char *line);

/* Sets what the lines up to the end of the stream say; `path` is for errors. False: *error says
 * where and why; lines before the error are set. The caller closes the stream. */
bool config_file_read(struct config *config, FILE *stream, const char *path,
                      struct config_error *error);

#endif
