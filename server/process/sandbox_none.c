#include "server/process/sandbox.h"

bool sandbox_enter(const char **ret_why)
{
    *ret_why = "this dueq was built without libseccomp (make SANDBOX=no)";
    return false;
}
