//go:build failpoint

package failpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a point can do.
const (
	actError = "error" // return an *Error
	actPanic = "panic"
	actKill  = "kill" // by SIGKILL: nothing is cleaned up
	actWait  = "wait" // for a file, while whoever tests changes something
)

// rule is what a point does when it is come by for the nth time; 0 is each time.
type rule struct {
	action, path string
	nth          int
}

// parse reads rules, separated by commas: "manifest.put=error" fails each time,
// "manifest.put=kill@2" kills at the second, "tree.hashed=wait:/tmp/go" waits
// until that file is there.
func parse(text string) (map[Name][]rule, error) {
	rules := map[Name][]rule{}
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, what, _ := strings.Cut(one, "=")
		if !slices.Contains(All(), Name(name)) {
			return nil, fmt.Errorf("there is no point %q", name)
		}
		r, err := parseRule(what)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rules[Name(name)] = append(rules[Name(name)], r)
	}
	return rules, nil
}

func parseRule(what string) (r rule, err error) {
	what, nth, counted := strings.Cut(what, "@")
	if counted {
		if r.nth, err = strconv.Atoi(nth); err != nil || r.nth < 1 {
			return rule{}, fmt.Errorf("%q is no count from 1", nth)
		}
	}
	r.action, r.path, _ = strings.Cut(what, ":")
	switch r.action {
	case actError, actPanic, actKill, actWait:
	default:
		return rule{}, fmt.Errorf("unknown action %q: use error, panic, kill or wait:FILE", r.action)
	}
	if (r.action == actWait) != (r.path != "") {
		return rule{}, fmt.Errorf("%q: wait takes a file, and nothing else does", what)
	}
	return r, nil
}
