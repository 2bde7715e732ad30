"""Shell lines that put a command line together, parts of which are workspace status."""

# Reads values that --workspace_status_command printed, from the files that
# `status_files` names.
STAMP = """\
stamp() {
    for file in $(status_files); do
        while read -r key value; do
            if [ "$key" = "$1" ]; then
                printf '%s' "$value"
                return 0
            fi
        done <"$file"
    done
    echo "toa: {$1} has no value: --workspace_status_command has to print one" >&2
    return 1
}
"""

_KEY = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

def quote(text):
    """The shell word that means a text."""
    return "'" + text.replace("'", "'\\''") + "'"

def _is_key(text):
    for character in text.elems():
        if character not in _KEY:
            return False
    return text != ""

def is_stamped(text):
    """Tells whether a text has a {KEY} that stands for a workspace status.

    Args:
      text: what was stated.
    Returns:
      True where it has.
    """
    for part in text.split("{")[1:]:
        key, closing, _ = part.partition("}")
        if closing and _is_key(key):
            return True
    return False

def assign(variable, text):
    """Shell lines that set a variable to a text.

    They use STAMP where the text is stamped, and end the script where a value
    is not known.

    Args:
      variable: its name.
      text: what was stated, in which {KEY} stands for a workspace status.
    Returns:
      The lines.
    """
    first, parts = text.split("{")[0], text.split("{")[1:]
    lines = ["%s=%s" % (variable, quote(first))]
    for part in parts:
        key, closing, rest = part.partition("}")
        if closing and _is_key(key):
            lines.append('%s="$%s$(stamp %s)" || exit 2' % (variable, variable, key))
            lines.append('%s="$%s"%s' % (variable, variable, quote(rest)))
        else:
            lines.append('%s="$%s"%s' % (variable, variable, quote("{" + part)))
    return lines

def prepend(words):
    """Shell lines that put words before the script's arguments, in order.

    Args:
      words: what to put there; texts as for assign.
    Returns:
      The lines.
    """
    lines = []
    for text in reversed(words):
        lines += assign("word", text) + ['set -- "$word" "$@"']
    return lines
