package cli

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"

	"toa.io/toa/extensions"
)

// filling finds values of secrets: first those that the file has, also under
// another variable, then what the sources say.
type filling struct {
	kept map[string]string // by variable
	// sources say nothing of what they do not know. The first that knows wins.
	sources []source
	known   map[extensions.Secret]string
}

type source func(context.Context, extensions.Secret) (string, error)

func (g *globals) filling(kept map[string]string, f *envFlags, tokens map[string]extensions.KeyFormat) *filling {
	all := &filling{kept: kept, known: map[extensions.Secret]string{}}
	if f.dev {
		all.sources = append(all.sources, development, g.ofProcess, keyring(tokens).generate)
	}
	if f.interactive {
		asked := newPrompt(g.io)
		all.sources = append(all.sources, func(ctx context.Context, s extensions.Secret) (string, error) {
			return asked.ask(ctx, s.Name+"/"+s.Key)
		})
	}
	return all
}

// entries are the variables with their values, in the same order.
func (f *filling) entries(ctx context.Context, variables []extensions.Variable) ([]entry, error) {
	f.remember(variables)
	entries := make([]entry, len(variables))
	for i, v := range variables {
		entries[i] = entry{v.Name, v.Value}
		if v.Secret == nil {
			continue
		}
		if entries[i].value = f.kept[v.Name]; entries[i].value != "" {
			continue
		}
		var err error
		if entries[i].value, err = f.find(ctx, *v.Secret); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// remember takes what is filled in for all variables of the same secret.
func (f *filling) remember(variables []extensions.Variable) {
	for _, v := range variables {
		if v.Secret == nil || f.kept[v.Name] == "" {
			continue
		}
		if s := identity(*v.Secret); f.known[s] == "" {
			f.known[s] = f.kept[v.Name]
		}
	}
}

// identity leaves out what is a matter of the variable.
func identity(s extensions.Secret) extensions.Secret {
	s.Optional = false
	return s
}

// find asks each source once for a secret, however many variables hold it.
func (f *filling) find(ctx context.Context, s extensions.Secret) (string, error) {
	s = identity(s)
	if value, known := f.known[s]; known {
		return value, nil
	}
	for _, ask := range f.sources {
		value, err := ask(ctx, s)
		if err != nil {
			return "", err
		}
		if f.known[s] = value; value != "" {
			break
		}
	}
	return f.known[s], nil
}

// guarded are beginnings of the names of secrets that hold credentials of what
// is started for developing: brokers and databases.
var guarded = []string{"toa-amqp-", "toa-convergence-", "toa-mongodb"}

// development are those credentials.
func development(_ context.Context, s extensions.Secret) (string, error) {
	if !slices.ContainsFunc(guarded, func(prefix string) bool { return strings.HasPrefix(s.Name, prefix) }) {
		return "", nil
	}
	return map[string]string{"username": "developer", "password": "secret"}[s.Key], nil
}

// ofProcess takes a variable of this process that is called as the key is.
func (g *globals) ofProcess(_ context.Context, s extensions.Secret) (string, error) {
	return g.io.Env(s.Key), nil
}

// keyring are the keys that identity tokens are encrypted with.
type keyring map[string]extensions.KeyFormat

// generate makes a key that nobody has but this machine. It is kept as all that
// is filled in, so tokens stay valid.
func (k keyring) generate(_ context.Context, s extensions.Secret) (string, error) {
	format, known := k[s.Key]
	if !known || s.Name != extensions.ConfigurationSecret {
		return "", nil
	}
	random := make([]byte, 32)
	rand.Read(random) // it ends the process rather than fail
	key := base64.RawURLEncoding.EncodeToString(random)
	if format == extensions.KeyPASETO {
		key = "k3.local." + key
	}
	return key, nil
}
