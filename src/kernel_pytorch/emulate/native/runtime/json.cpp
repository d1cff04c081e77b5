#include "json.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kpt {
namespace {

const int MAX_DEPTH = 32;

struct Reader {
    const char *at, *end, *start;
    std::string problem;

    bool fail(const char *what) {
        problem = std::string(what) + " at byte " + std::to_string(at - start);
        return false;
    }
    void blanks() {
        while (at < end && strchr(" \t\r\n", *at)) at++;
    }
    bool word(const char *text) {
        size_t n = strlen(text);
        if (size_t(end - at) < n || memcmp(at, text, n) != 0) return false;
        at += n;
        return true;
    }
    bool string(std::string &out) {
        at++;
        while (at < end && *at != '"') {
            if (*at != '\\') {
                out += *at++;
                continue;
            }
            if (++at >= end) break;
            char c = *at++;
            if (c == 'u') {
                if (end - at < 4) return fail("a short \\u");
                unsigned code = unsigned(strtoul(std::string(at, 4).c_str(), nullptr, 16));
                at += 4;
                out += code < 128 ? char(code) : '?';
            } else {
                const char *from = "nrtbf", *to = "\n\r\t\b\f";
                const char *found = strchr(from, c);
                out += found ? to[found - from] : c;
            }
        }
        if (at >= end) return fail("a string without an end");
        at++;
        return true;
    }
    bool value(Json &out, int depth) {
        if (depth > MAX_DEPTH) return fail("nesting too deep");
        blanks();
        if (at >= end) return fail("text ends");
        if (*at == '{') return object(out, depth);
        if (*at == '[') return list(out, depth);
        if (*at == '"') {
            out.type = Json::text;
            return string(out.string);
        }
        if (word("true") || word("false")) {
            out.type = Json::boolean;
            out.value = at[-2] == 'u';
            return true;
        }
        if (word("null")) return true;
        char *stop = nullptr;
        out.value = strtod(at, &stop);
        if (stop == at) return fail("no value");
        out.type = Json::number;
        at = stop;
        return true;
    }
    bool object(Json &out, int depth) {
        out.type = Json::object;
        at++;
        for (blanks(); at < end && *at != '}'; blanks()) {
            if (*at == ',') {
                at++;
                continue;
            }
            std::string name;
            if (*at != '"' || !string(name)) return fail("a name expected");
            blanks();
            if (at >= end || *at++ != ':') return fail("':' expected");
            if (!value(out.members[name], depth + 1)) return false;
        }
        if (at >= end) return fail("an object without an end");
        at++;
        return true;
    }
    bool list(Json &out, int depth) {
        out.type = Json::list;
        at++;
        for (blanks(); at < end && *at != ']'; blanks()) {
            if (*at == ',') {
                at++;
                continue;
            }
            out.items.emplace_back();
            if (!value(out.items.back(), depth + 1)) return false;
        }
        if (at >= end) return fail("a list without an end");
        at++;
        return true;
    }
};

} // namespace

const Json &Json::operator[](const std::string &name) const {
    static const Json nothing;
    auto found = members.find(name);
    return found == members.end() ? nothing : found->second;
}

bool parse_json(const std::string &text, Json &out, std::string &problem) {
    Reader reader{text.data(), text.data() + text.size(), text.data(), ""};
    bool good = reader.value(out, 0);
    problem = reader.problem;
    return good;
}

std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += char(c);
        } else if (c < 32) {
            char code[8];
            snprintf(code, sizeof code, "\\u%04x", c);
            out += code;
        } else {
            out += char(c);
        }
    }
    return out + "\"";
}

} // namespace kpt
