package document

import (
	"fmt"
	"strings"
)

// Quote shows text that others wrote: on one line, harmless and not too long.
func Quote(text string) string {
	const enough = 80
	if len(text) <= enough {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:enough], ""))
}

// Printable is the text itself where a terminal may see it, else quoted.
func Printable(text string) string {
	quoted := fmt.Sprintf("%q", text)
	if quoted[1:len(quoted)-1] == strings.ReplaceAll(text, `\`, `\\`) {
		return text
	}
	return quoted
}
