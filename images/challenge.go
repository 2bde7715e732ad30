package images

import (
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// challengeOf finds what a registry asks for in an answer of 401: bearer
// before basic, nil for anything else.
func challengeOf(header http.Header) *transport.Challenge {
	var found *transport.Challenge
	for _, line := range header.Values("WWW-Authenticate") {
		challenge := parseChallenge(line)
		switch challenge.Scheme {
		case "bearer":
			return challenge
		case "basic":
			found = challenge
		}
	}
	return found
}

// isInsufficient tells whether the token that was sent is good, for less than
// what it was sent for (RFC 6750, section 3.1).
func isInsufficient(c *transport.Challenge) bool {
	return c.Parameters["error"] == "insufficient_scope"
}

// parseChallenge reads one WWW-Authenticate line: a scheme and parameters
// whose values may be quoted. It takes what it understands and stops there.
func parseChallenge(line string) *transport.Challenge {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	c := &transport.Challenge{Scheme: strings.ToLower(scheme), Parameters: map[string]string{}}
	for {
		name, value, ok := strings.Cut(strings.TrimLeft(rest, " \t,"), "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t,\"") {
			return c
		}
		var text string
		if text, rest, ok = parameterValue(value); !ok {
			return c
		}
		c.Parameters[strings.ToLower(name)] = text
	}
}

// parameterValue reads a token or a quoted string and returns what follows it.
func parameterValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, " \t,")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var text strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return text.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		text.WriteByte(s[i])
	}
	return "", "", false
}
