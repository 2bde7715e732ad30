package extensions

import (
	"strconv"
	"strings"

	"toa.io/toa/document"
)

// cadence makes calls that are due, in a service of its own.
func cadence(in Input) Declaration {
	seconds := 60
	var regions []string
	in.read(in.Reader.Nullable(in.Reader.Sub(document.Keys{
		"discreteness": in.Reader.Integer(&seconds, 1),
		"regions":      in.Reader.List(in.region(&regions)),
	})))
	s := in.service("cadence", "metronome")
	s.Variables = []Variable{{Name: "TOA_CADENCE_DISCRETENESS", Value: strconv.Itoa(seconds * 1000)}}
	if len(regions) == 0 {
		return Declaration{Services: []Service{s}}
	}
	// Pulses of components are made where these are, so everyone has to know.
	variable := Variable{Name: "TOA_CADENCE_REGIONS", Value: strings.Join(regions, " ")}
	s.Variables = append(s.Variables, variable)
	return Declaration{Services: []Service{s}, Variables: map[string][]Variable{Global: {variable}}}
}

func (in Input) region(target *[]string) document.Want {
	rank := -1
	return in.Reader.Integer(&rank, 0).Then(func(*document.Value) {
		if rank >= 0 {
			*target = append(*target, strconv.Itoa(rank))
		}
		rank = -1
	})
}
