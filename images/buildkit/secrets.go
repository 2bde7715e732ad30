package buildkit

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/scrypt"
	"toa.io/toa/images"
)

// secrets are what RUN steps of an image see.
//
// Engines do not look at the value of a secret when they tell whether a step
// was done before, so one that was done with an old value would pass for one
// that was done with the new. They do look at the secret's ID: it carries a
// fingerprint of all values. No image and no history has the ID, but engines
// and cache registries may show what was made of it, so the fingerprint is
// slow to compute: nobody tries a dictionary on it.
type secrets struct {
	values map[string][]byte // by name
	print  string
}

func readSecrets(given []images.Secret) (secrets, error) {
	s := secrets{values: map[string][]byte{}}
	var all []byte
	for _, one := range given {
		value := one.Data
		if one.Env != "" {
			value = []byte(os.Getenv(one.Env))
		}
		s.values[one.ID] = value
		all = frame(frame(all, []byte(one.ID)), value)
	}
	if len(given) == 0 {
		return s, nil
	}
	sum, err := scrypt.Key(all, []byte("toa/secrets/v1"), 1<<15, 8, 1, 16)
	if err != nil {
		return secrets{}, fmt.Errorf("make fingerprint of secrets: %w", err)
	}
	s.print = hex.EncodeToString(sum)
	return s, nil
}

// frame appends a field with its length, so that fields cannot be taken for
// each other.
func frame(all, field []byte) []byte {
	return append(binary.AppendUvarint(all, uint64(len(field))), field...)
}

// id is what the engine knows a secret by.
func (s secrets) id(name string) string { return name + "-" + s.print }

// byID are the values as the engine asks for them.
func (s secrets) byID() map[string][]byte {
	all := make(map[string][]byte, len(s.values))
	for name, value := range s.values {
		all[s.id(name)] = value
	}
	return all
}

// shortest is the length from which a value is masked: shorter ones are words
// that output is full of.
const shortest = 6

// mask hides values in what RUN steps print.
func (s secrets) mask() *strings.Replacer {
	var pairs []string
	for _, value := range s.values {
		for line := range strings.Lines(string(value)) {
			line = strings.TrimSpace(line)
			_, token, _ := strings.Cut(line, "=") // of an .npmrc
			for _, text := range []string{line, strings.Trim(token, `" `)} {
				if len(text) >= shortest {
					pairs = append(pairs, text, "***")
				}
			}
		}
	}
	return strings.NewReplacer(pairs...)
}
