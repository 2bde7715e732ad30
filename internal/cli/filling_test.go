package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"toa.io/toa/extensions"
)

// secretVariables are those of a broker, a database and a service, of which two
// share a key.
func secretVariables() []extensions.Variable {
	of := func(variable, name, key string, optional bool) extensions.Variable {
		return extensions.Variable{Name: variable, Secret: &extensions.Secret{Name: name, Key: key, Optional: optional}}
	}
	return []extensions.Variable{
		{Name: "PLAIN", Value: "1"},
		of("BROKER", "toa-amqp-context.default", "username", false),
		of("DATABASE", "toa-mongodb.default", "password", false),
		of("FIRST", "toa-configuration", "KEY", false),
		of("SECOND", "toa-configuration", "KEY", true),
		of("OTHER", "toa-sql.default", "password", false),
	}
}

func TestFilling(t *testing.T) {
	process := func(name string) string { return map[string]string{"KEY": "of the process"}[name] }
	for _, c := range []struct {
		name  string
		kept  map[string]string
		flags envFlags
		input string
		want  string
		asked string
	}{
		{name: "empty", want: ",,,,"},
		{name: "kept", kept: map[string]string{"FIRST": "a", "PLAIN": "2"}, want: ",,a,a,"},
		{name: "each kept as it is", kept: map[string]string{"FIRST": "a", "SECOND": "b"}, want: ",,a,b,"},
		{name: "development", flags: envFlags{dev: true}, want: "developer,secret,of the process,of the process,"},
		{
			name: "what is kept goes before", kept: map[string]string{"DATABASE": "mine"}, flags: envFlags{dev: true},
			want: "developer,mine,of the process,of the process,",
		},
		{
			name: "asked once for each key", flags: envFlags{interactive: true}, input: "b\r\nd\n\no", want: "b,d,,,o",
			asked: "toa-amqp-context.default/username: \ntoa-mongodb.default/password: \ntoa-configuration/KEY: \ntoa-sql.default/password: \n",
		},
		{
			name: "asked for the rest", flags: envFlags{dev: true, interactive: true}, input: "o\n",
			want: "developer,secret,of the process,of the process,o", asked: "toa-sql.default/password: \n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked bytes.Buffer
			g := &globals{io: IO{In: strings.NewReader(c.input), Err: &asked, Env: process}}
			entries, err := g.filling(c.kept, &c.flags, nil).entries(t.Context(), secretVariables())
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			for _, e := range entries[1:] {
				values = append(values, e.value)
			}
			if got := strings.Join(values, ","); got != c.want || entries[0].value != "1" {
				t.Errorf("got %s besides %q, want %s besides 1", got, entries[0].value, c.want)
			}
			if asked.String() != c.asked {
				t.Errorf("asked %q, want %q", asked.String(), c.asked)
			}
		})
	}
}

// Keys of identity tokens are made up, each time another, unless there is one.
func TestTokenKeysAreGenerated(t *testing.T) {
	of := func(name, key string) extensions.Variable {
		return extensions.Variable{Name: name, Secret: &extensions.Secret{Name: "toa-configuration", Key: key}}
	}
	variables := []extensions.Variable{of("MODERN", "A"), of("OLD", "B"), of("SET", "C"), of("KEPT", "D"), of("OTHER", "E")}
	tokens := map[string]extensions.KeyFormat{"A": extensions.KeyJWE, "B": extensions.KeyPASETO, "C": extensions.KeyJWE, "D": extensions.KeyJWE}
	g := &globals{io: IO{Env: func(name string) string { return map[string]string{"C": "of the process"}[name] }}}
	generate := func(flags envFlags) map[string]string {
		t.Helper()
		entries, err := g.filling(map[string]string{"KEPT": "mine"}, &flags, tokens).entries(t.Context(), variables)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for _, e := range entries {
			values[e.name] = e.value
		}
		return values
	}
	first, second := generate(envFlags{dev: true}), generate(envFlags{dev: true})
	for name, prefix := range map[string]string{"MODERN": "", "OLD": "k3.local."} {
		encoded, found := strings.CutPrefix(first[name], prefix)
		if key, err := base64.RawURLEncoding.DecodeString(encoded); err != nil || !found || len(key) != 32 {
			t.Errorf("%s = %q: want 32 bytes in base64url after %q", name, first[name], prefix)
		}
		if first[name] == second[name] {
			t.Errorf("%s is %q twice", name, first[name])
		}
	}
	if first["SET"] != "of the process" || first["KEPT"] != "mine" || first["OTHER"] != "" {
		t.Errorf("got %v", first)
	}
	if got := generate(envFlags{}); got["MODERN"] != "" {
		t.Errorf("without --dev: %v", got)
	}
}

func TestPromptAtTheEndOfInput(t *testing.T) {
	p := newPrompt(IO{In: strings.NewReader(""), Err: &bytes.Buffer{}})
	_, err := p.ask(t.Context(), "toa-x/key")
	if err == nil || err.Error() != "read toa-x/key: the input ended, expected a line" {
		t.Errorf("ask: got %v", err)
	}
}

// A signal ends the waiting though nothing is typed.
func TestPromptIsCalledOff(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = out.Close(), in.Close() })
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := newPrompt(IO{In: in, Err: &bytes.Buffer{}}).ask(ctx, "toa-x/key"); !errors.Is(err, stopped) {
		t.Errorf("ask: got %v, want %v", err, stopped)
	}
}

func TestBySecret(t *testing.T) {
	got := bySecret([]extensions.Secret{{Name: "b", Key: "2"}, {Name: "a", Key: "1", Optional: true}, {Name: "b", Key: "1"}})
	var text bytes.Buffer
	if err := (&exportFlags{output: "text"}).writeSecrets(&text, maps.Clone(got)); err != nil {
		t.Fatal(err)
	}
	if want := "a:\n  1 (optional)\nb:\n  1\n  2\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}
