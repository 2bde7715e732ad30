package images

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestTokenSaysWhatItIsGoodFor(t *testing.T) {
	for claims, want := range map[string]bool{
		`{"access":[{"type":"repository","name":"shop/a","actions":["pull","push"]}]}`: false,
		`{"access":[{"type":"repository","name":"shop/a","actions":["*"]}]}`:           false,
		`{"access":[{"type":"repository","name":"shop/a","actions":["pull"]}]}`:        true,
		`{"access":[{"type":"repository","name":"shop/b","actions":["push"]}]}`:        true,
		`{"access":[{"type":"registry","name":"shop/a","actions":["push"]}]}`:          true,
		`{"access":[{"type":"repository","name":"shop/a","actions":null}]}`:            true,
		`{"access":[]}`:                   true,
		`{"access":null}`:                 false, // it does not say
		`{"sub":"somebody"}`:              false,
		`{"access":"repository:shop/a"}`:  false,
		`{"access":[{"actions":"pull"}]}`: false,
		`no claims`:                       false,
	} {
		token := "head." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
		if got := lacksPush(token, "shop/a"); got != want {
			t.Errorf("lacksPush(%s) = %t, want %t", claims, got, want)
		}
	}
	for _, token := range []string{"", "opaque", "a.b", "a.%.c", strings.Repeat(".", 1000)} {
		if lacksPush(token, "shop/a") {
			t.Errorf("lacksPush(%q) = true: it does not say so", token)
		}
	}
}

// A token may be anything.
func FuzzLacksPush(f *testing.F) {
	f.Add("a."+base64.RawURLEncoding.EncodeToString([]byte(`{"access":[{"type":"repository","name":"shop/a","actions":["pull"]}]}`))+".c", "shop/a")
	f.Add("opaque", "shop/a")
	f.Fuzz(func(t *testing.T, token, repository string) {
		if lacksPush(token, repository) && strings.Count(token, ".") != 2 {
			t.Errorf("lacksPush(%q, %q): it is no token that says what it is good for", token, repository)
		}
	})
}
