#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
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

namespace {

/* What was preloaded into the program (a sanitizer, say) is not meant for its children. */
bool is_inherited(const char *variable) { return strncmp(variable, "LD_PRELOAD=", 11) != 0; }

int connect_to(const char *path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (to >= 0 && connect(to, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) {
        close(to);
        to = -1;
    }
    return to;
}

/* The length of what follows, with the file that standard output and error of the command go to. */
bool send_head(int to, uint32_t bytes, int output) {
    iovec part{&bytes, sizeof bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &output, sizeof output);
    return sendmsg(to, &message, MSG_NOSIGNAL) == ssize_t(sizeof bytes);
}

/* The command's exit status from emulate/compile_server.py, which has its modules loaded already: -1 where there is no
 * such server, or where it did not take the command. */
int ask_server(const std::vector<std::string> &words, const std::string &log) {
    const char *path = words.size() > 3 ? getenv("KPT_EMULATE_SERVER") : nullptr; /* PYTHON STARTER MODULE ... */
    char *folder = path ? getcwd(nullptr, 0) : nullptr;
    int to = folder ? connect_to(path) : -1;
    if (to < 0) {
        free(folder);
        return -1;
    }
    std::string text = std::string(folder) + '\0' + std::to_string(words.size()) + '\0';
    free(folder);
    for (auto &word : words) text += word + '\0';
    for (char **at = environ; *at; at++)
        if (is_inherited(*at)) text += std::string(*at) + '\0';
    int output = log.empty() ? 2 : open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool sent = output >= 0 && send_head(to, uint32_t(text.size()), output);
    for (size_t at = 0; sent && at < text.size();) {
        ssize_t wrote = send(to, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (wrote > 0)
            at += size_t(wrote);
        else
            sent = errno == EINTR;
    }
    unsigned char status = 0;
    ssize_t got = -1;
    while (sent && (got = recv(to, &status, 1, 0)) < 0 && errno == EINTR) {}
    if (!log.empty() && output >= 0) close(output);
    close(to);
    return got == 1 ? status : -1;
}

} // namespace

bool run_child(const std::vector<std::string> &words, const std::string &who, const std::string &log,
               std::string &problem) {
    int served = ask_server(words, log);
    if (served == 0) return true;
    if (served > 0) {
        problem = who + " stopped with exit status " + std::to_string(served);
        return false;
    }
    std::vector<char *> arguments, variables;
    for (auto &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    for (char **at = environ; *at; at++)
        if (is_inherited(*at)) variables.push_back(*at);
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
