/* Child processes: the translator and the compiler. Uses nothing else of the runtime, so libhiprtc can hold it too. */
#ifndef KPT_CHILD_H
#define KPT_CHILD_H

#include <string>
#include <vector>

namespace kpt {

/* The words of a command line, which stand between blanks. */
std::vector<std::string> words_of(const std::string &command);

/* Runs a command to its end. What it prints goes to the file `log`, or to standard error where that is empty.
 * False with the reason in `problem`, which calls the command `who`. */
bool run_child(const std::vector<std::string> &words, const std::string &who, const std::string &log,
               std::string &problem);

} // namespace kpt
#endif
