#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

extern char **environ;

namespace kpt {

std::vector<std::string> words_of(const std::string &command) {
    std::vector<std::string> words;
    std::istringstream split(command);
    for (std::string word; split >> word;) words.push_back(word);
    return words;
}

bool run_child(const std::vector<std::string> &words, const std::string &who, const std::string &log,
               std::string &problem) {
    std::vector<char *> arguments, variables;
    for (auto &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    /* What was preloaded into the program (a sanitizer, say) is not meant for its children. */
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "LD_PRELOAD=", 11) != 0) variables.push_back(*at);
    variables.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!log.empty()) posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 2, 1); /* the program's standard output is its own */
    pid_t child = 0;
    int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        problem = words[0] + " cannot be started: " + strerror(failed);
        return false;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            status = 0; /* the program ignores or reaps its children itself: the file it made decides */
            break;
        }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    problem = who + " stopped with " +
              (WIFEXITED(status) ? "exit status " + std::to_string(WEXITSTATUS(status))
                                 : "signal " + std::to_string(WTERMSIG(status)));
    return false;
}

} // namespace kpt
