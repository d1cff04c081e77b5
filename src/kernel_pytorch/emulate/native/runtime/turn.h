/* One kernel runs at a time: whoever wants to run one stands in line. */
#ifndef KPT_TURN_H
#define KPT_TURN_H

namespace kpt {

/* Taken in the order of asking, so that work in the background and the program's threads come to their turns alike. */
class Turn {
public:
    Turn();
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;
};

/* Whether somebody stands in line behind the one whose turn it is. */
bool turn_is_wanted();

} // namespace kpt
#endif
