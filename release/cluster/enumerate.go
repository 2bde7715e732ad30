package cluster

import (
	"fmt"
	"strings"
)

// mostNamed is how many things of a kind an error names: who mends ten sees the
// others next time.
const mostNamed = 10

// enumerate joins the first few of many.
func enumerate(items []string, separator string) string {
	if len(items) <= mostNamed {
		return strings.Join(items, separator)
	}
	return strings.Join(items[:mostNamed], separator) + fmt.Sprintf("%sand %d more", separator, len(items)-mostNamed)
}
