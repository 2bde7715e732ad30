package document

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Text reads a scalar as it is written: 1.10 stays "1.10". It must pass all
// checks.
func (r *Reader) Text(target *string, checks ...Check) Want {
	return Want{
		Take: func(v *Value) {
			if r.scalar(v) && r.pass(v, checks) {
				*target = v.Text
			}
		},
		Schema: func() *Schema {
			schema := &Schema{Type: Types{"string", "number"}}
			for _, c := range checks {
				c.describe(schema)
			}
			return schema
		},
	}
}

func (r *Reader) scalar(v *Value) bool {
	switch v.Kind {
	case Text, Integer, Float:
		return true
	case Boolean:
		r.Expected(v, fmt.Sprintf("put quotes around %s if that is the text", v.Text), "text")
	default:
		r.Expected(v, "", "text")
	}
	return false
}

func (r *Reader) pass(v *Value, checks []Check) bool {
	for _, c := range append([]Check{harmless}, checks...) {
		if what := c.Expects(v.Text); what != "" {
			r.Fail(v.At, "", "%s: expected %s, found %s", r.Where(), what, Shown(v.Text))
			return false
		}
	}
	return true
}

// Shown quotes text unless it may carry a password, as in user:password@host.
func Shown(text string) string {
	if user, _, at := strings.Cut(text, "@"); at && strings.Contains(user, ":") {
		return "text with a colon before an @, not shown"
	}
	return Quote(text)
}

// Integer reads a whole number of 32 bits that is not below least.
func (r *Reader) Integer(target *int, least int) Want {
	what := fmt.Sprintf("a whole number, %d or more", least)
	return Want{
		Take: func(v *Value) {
			if v.Kind != Integer {
				r.Expected(v, "", what)
				return
			}
			n, err := strconv.Atoi(v.Text)
			if err != nil || n < least || n > 1<<31-1 {
				r.Fail(v.At, "", "%s: expected %s, found %s", r.Where(), what, Quote(v.Text))
				return
			}
			*target = n
		},
		Schema: func() *Schema { return &Schema{Type: Types{"integer"}, Minimum: &least} },
	}
}

// Boolean reads true or false.
func (r *Reader) Boolean(target *bool) Want {
	return Want{
		Take: func(v *Value) {
			if v.Kind != Boolean {
				r.Expected(v, "", "true or false")
				return
			}
			*target = strings.EqualFold(v.Text, "true")
		},
		Schema: func() *Schema { return &Schema{Type: Types{"boolean"}} },
	}
}

// Duration reads a positive one, such as 90s.
func (r *Reader) Duration(target *time.Duration) Want {
	const expected = "a duration such as 90s or 10m"
	return Want{
		Take: func(v *Value) {
			if v.Kind != Text {
				r.Expected(v, "", expected)
				return
			}
			d, err := time.ParseDuration(v.Text)
			if err != nil || d <= 0 {
				r.Fail(v.At, "", "%s: expected %s, found %s", r.Where(), expected, Quote(v.Text))
				return
			}
			*target = d
		},
		Schema: func() *Schema { return &Schema{Type: Types{"string"}, Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`} },
	}
}
