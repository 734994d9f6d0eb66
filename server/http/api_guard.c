#include "server/http/api_guard.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* ---- Host */

static bool is_address(struct http_part name)
{
    char text[INET6_ADDRSTRLEN] = "";
    struct in6_addr address;

    if (name.size == 0 || name.size >= sizeof(text))
        return false;
    memcpy(text, name.data, name.size);
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_listed(struct http_part name, const char *hosts)
{
    while (*(hosts += strspn(hosts, " ")) != '\0') {
        size_t size = strcspn(hosts, " ");

        if ((size == 1 && hosts[0] == '*') ||
            (size == name.size && strncasecmp(hosts, name.data, size) == 0))
            return true;
        hosts += size;
    }
    return false;
}

int api_check_host(const struct http_head *head, const char *hosts, const char **ret_why)
{
    struct http_part name = http_host_name(head->host);

    *ret_why = "ERR the request has no Host";
    if (head->host.data == NULL)
        return 400;
    *ret_why = "ERR this host is not served: see http-hosts";
    return is_address(name) || http_part_is(name, "localhost") || is_listed(name, hosts) ? 0
                                                                                         : 403;
}

/* ---- the page that asks */

static bool is_own(struct http_part origin, struct http_part host)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(schemes[i]);

        if (origin.size == size + host.size &&
            strncasecmp(origin.data, schemes[i], size) == 0 &&
            strncasecmp(origin.data + size, host.data, host.size) == 0)
            return true;
    }
    return false;
}

int api_check_origin(const struct http_head *head, const char **ret_why)
{
    *ret_why = "ERR the page of another origin may not ask";
    if (head->fetch_site.data != NULL && !http_part_is(head->fetch_site, "same-origin") &&
        !http_part_is(head->fetch_site, "none"))
        return 403;
    return head->origin.data == NULL || is_own(head->origin, head->host) ? 0 : 403;
}

/* ---- the body */

int api_check_body(const struct http_head *head, bool may_be_raw, bool *ret_raw,
                   const char **ret_why)
{
    bool has_body =
        head->method == HTTP_POST || head->method == HTTP_PUT || head->method == HTTP_PATCH;

    *ret_raw = may_be_raw && http_type_is(head->content_type, "application/octet-stream");
    *ret_why = NULL;
    if (has_body)
        return *ret_raw || http_type_is(head->content_type, "application/json") ? 0 : 415;
    *ret_why = "ERR this request has no body";
    return head->length > 0 ? 400 : 0;
}
