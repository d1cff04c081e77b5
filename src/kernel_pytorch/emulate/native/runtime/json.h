/* A small JSON reader for the device description, and text quoting for reports. */
#ifndef KPT_JSON_H
#define KPT_JSON_H

#include <map>
#include <string>
#include <vector>

namespace kpt {

struct Json {
    enum Type { null, boolean, number, text, list, object } type = null;
    double value = 0;
    std::string string;
    std::vector<Json> items;
    std::map<std::string, Json> members;

    /* A member by name; a null value where there is none. */
    const Json &operator[](const std::string &name) const;
    double number_or(double other) const { return type == number || type == boolean ? value : other; }
    std::string text_or(const std::string &other) const { return type == text ? string : other; }
};

/* Returns false, with the place in `problem`, for text that is not JSON. */
bool parse_json(const std::string &text, Json &out, std::string &problem);

std::string quoted(const std::string &text);

} // namespace kpt
#endif
