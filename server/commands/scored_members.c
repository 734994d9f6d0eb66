#include "server/commands/scored_members.h"

void scored_members_write_one(struct resp_writer *writer, struct dueq_slice member,
                              double score, bool with_score)
{
    if (with_score && writer->version >= 3)
        resp_array(writer, 2);
    resp_slice(writer, member);
    if (with_score)
        resp_double(writer, score);
}
