package extensions

import (
	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// KeyFormat is how a key is written that identity tokens are encrypted with.
type KeyFormat string

// Formats of keys, as the configuration of identity.tokens names them.
const (
	// KeyJWE is the default: 32 bytes in base64url.
	KeyJWE KeyFormat = "jwe"
	// KeyPASETO is a PASERK: the same after "k3.local.".
	KeyPASETO KeyFormat = "paseto"
)

// TokenKeys are the keys of the secret toa-configuration that the context has
// identity.tokens encrypt with. Older releases name two by key0 and key1, newer
// ones have a list.
func TokenKeys(x workspace.Context) map[string]KeyFormat {
	found := map[string]KeyFormat{}
	for _, a := range x.Annotations {
		if a.Package != packageConfiguration || a.Value.Find("identity.tokens") == nil {
			continue
		}
		tokens := a.Value.Find("identity.tokens").Value
		for _, old := range []string{"key0", "key1"} {
			addTokenKey(found, member(tokens, old), KeyPASETO)
		}
		if keys := member(tokens, "keys"); keys != nil {
			for _, one := range keys.Items {
				addTokenKey(found, member(one, "key"), formatOf(one))
			}
		}
	}
	return found
}

func addTokenKey(found map[string]KeyFormat, key *document.Value, format KeyFormat) {
	if key == nil || key.Kind != document.Text {
		return
	}
	if parts := secretReference.FindStringSubmatch(key.Text); parts != nil {
		found[parts[1]] = format
	}
}

func formatOf(entry *document.Value) KeyFormat {
	if format := member(entry, "format"); format != nil && format.Text == string(KeyPASETO) {
		return KeyPASETO
	}
	return KeyJWE
}
