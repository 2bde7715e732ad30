package extensions

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"toa.io/toa/internal/lazyregexp"
)

// anywhere is the key whose addresses serve every selector without one of its own.
const anywhere = "."

// maxAddresses keeps a mistyped range from filling the memory.
const maxAddresses = 1024

var (
	pointerKey = lazyregexp.New(`^[a-zA-Z0-9]{1,32}(?:\.[a-zA-Z0-9]{1,32}){0,3}$`)
	shardRange = lazyregexp.New(`\{([0-9]{1,8})-([0-9]{1,8})\}`)
	schemeName = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)
)

// open are the protocols that are spoken without a user and a password.
var open = []string{"http", "https", "redis"}

// Pointer says where things are found: addresses by selector, in order.
type Pointer struct{ entries []pointerEntry }

type pointerEntry struct {
	key       string
	addresses []string
}

// resolve finds the addresses of a selector: its own, else those of the
// nearest namespace above, else those of anywhere.
func (p Pointer) resolve(selector string) (pointerEntry, bool) {
	for key := selector; key != ""; {
		if e, found := p.find(key); found {
			return e, true
		}
		above := strings.LastIndexByte(key, '.')
		key = key[:max(above, 0)]
	}
	return p.find(anywhere)
}

func (p Pointer) find(key string) (pointerEntry, bool) {
	i := slices.IndexFunc(p.entries, func(e pointerEntry) bool { return e.key == key })
	if i < 0 {
		return pointerEntry{}, false
	}
	return p.entries[i], true
}

// variables are the addresses of a selector and, where its protocol knows
// users, the credentials. Not found means that there is no address.
func (p Pointer) variables(id, selector string) (variables []Variable, found bool) {
	e, found := p.resolve(selector)
	if !found {
		return nil, false
	}
	name := variableName(id, selector)
	variables = []Variable{{Name: name, Value: strings.Join(e.addresses, " ")}}
	if slices.ContainsFunc(e.addresses, guarded) {
		variables = append(variables, credentials(name, secretName(id, e.key))...)
	}
	return variables, true
}

func guarded(address string) bool { return !slices.Contains(open, scheme(address)) }

func scheme(address string) string {
	before, _, _ := strings.Cut(address, ":")
	return strings.ToLower(before)
}

// credentials are user and password in a secret, as variables beside name.
func credentials(name, secret string) []Variable {
	return []Variable{
		{Name: name + "_USERNAME", Secret: &Secret{Name: secret, Key: "username"}},
		{Name: name + "_PASSWORD", Secret: &Secret{Name: secret, Key: "password"}},
	}
}

var underscores = strings.NewReplacer("-", "_", ".", "_")

// variableName is "TOA_<ID>_<SELECTOR>".
func variableName(parts ...string) string {
	return "TOA_" + strings.ToUpper(underscores.Replace(strings.Join(parts, "_")))
}

var hyphens = strings.NewReplacer(".", "-", "_", "-")

// secretName is "toa-<id>-<key>", and "toa-<id>.default" for anywhere. Keys may
// have letters that Kubernetes refuses in names: no such secret can be there,
// so these are written in the nearest way that it takes.
func secretName(id, key string) string {
	if key == anywhere {
		return "toa-" + id + ".default"
	}
	return "toa-" + id + "-" + strings.ToLower(hyphens.Replace(key))
}

// spread writes an address with ranges ("host-{0-2}") as many.
func spread(text string) ([]string, error) {
	span := shardRange.FindStringSubmatchIndex(text)
	if span == nil {
		return []string{text}, nil
	}
	first, _ := strconv.Atoi(text[span[2]:span[3]]) // eight digits fit
	last, _ := strconv.Atoi(text[span[4]:span[5]])
	switch {
	case last < first:
		return nil, fmt.Errorf("a range that counts upwards, found {%d-%d}", first, last)
	case last-first >= maxAddresses:
		return nil, fmt.Errorf("a range of %d addresses at most, found {%d-%d}", maxAddresses, first, last)
	}
	return spreadRange(text[:span[0]], text[span[1]:], first, last)
}

func spreadRange(before, after string, first, last int) ([]string, error) {
	rest, err := spread(after)
	if err != nil {
		return nil, err
	}
	if (last-first+1)*len(rest) > maxAddresses {
		return nil, fmt.Errorf("ranges that make %d addresses at most", maxAddresses)
	}
	var all []string
	for n := first; n <= last; n++ {
		for _, tail := range rest {
			all = append(all, before+strconv.Itoa(n)+tail)
		}
	}
	return all, nil
}

// address says what was expected of text, or "". It never shows the text: it
// may hold a password.
func address(text string) (expected string) {
	before, after, colon := strings.Cut(text, ":")
	u, err := url.Parse(text)
	switch {
	case !colon || after == "" || !schemeName.MatchString(before) || strings.ContainsAny(text, " \t\r\n"):
		return "an address such as amqp://host"
	case withUser(after):
		return "an address without user and password"
	case err != nil:
		return "an address such as amqp://host"
	case u.Host == "" && u.Opaque == "" && u.Path == "":
		return "an address with a host"
	}
	return ""
}

// withUser looks for user and password in what follows the protocol, also
// where the rest of the address is broken.
func withUser(after string) bool {
	authority, slashes := strings.CutPrefix(after, "//")
	if !slashes {
		return false
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return strings.Contains(authority, "@")
}
