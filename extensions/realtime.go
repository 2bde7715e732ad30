package extensions

import (
	"strconv"
	"strings"

	"toa.io/toa/document"
)

// realtime is exposition#realtime: it tells everyone which Redis the streams
// are in. The gateway serves them, so nothing is deployed for them.
func realtime(in Input) Declaration {
	if !in.stated("where the streams are kept", "{streams: redis://host}") {
		return Declaration{}
	}
	var streams Pointer
	expire := 0
	in.read(in.Reader.Sub(document.Keys{
		"streams": addressList(in.Reader, &streams, anywhere),
		"expire":  in.Reader.Integer(&expire, 1),
	}, "streams"))
	e, _ := streams.find(anywhere)
	global := []Variable{{Name: "TOA_REALTIME_STREAMS", Value: strings.Join(e.addresses, " ")}}
	if expire > 0 {
		global = append(global, Variable{Name: "TOA_REALTIME_EXPIRE", Value: strconv.Itoa(expire)})
	}
	return Declaration{Variables: map[string][]Variable{Global: global}}
}
