package workspace

import "slices"

// shipped are the components that standard packages bring, by package, as the
// newest runtime has them.
var shipped = map[string][]string{
	"@toa.io/extensions.cadence":       {"cadence.metronome"},
	"@toa.io/extensions.configuration": {"configuration.values"},
	"@toa.io/extensions.continuity":    {"continuity.journal"},
	"@toa.io/extensions.exposition": {
		"exposition.atom", "exposition.octets",
		"identity.bans", "identity.basic", "identity.clients", "identity.credentials", "identity.federation",
		"identity.grants", "identity.keys", "identity.otp", "identity.passkeys", "identity.roles", "identity.tokens",
	},
	"@toa.io/extensions.introspection": {"introspection.edges", "introspection.nodes", "introspection.signals"},
}

// Shipped lists the IDs of the components that a standard package brings along,
// sorted. Whether it brings all of them is for the annotation to say.
func Shipped(reference string) []string { return slices.Clone(shipped[reference]) }

// shipper is the standard package that brings a component, or empty.
func shipper(id string) string {
	for reference, ids := range shipped {
		if slices.Contains(ids, id) {
			return reference // one ID, one package: a test says so
		}
	}
	return ""
}
