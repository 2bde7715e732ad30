package extensions

import (
	"math/big"
	"strconv"

	"toa.io/toa/internal/lazyregexp"
)

// quantity is what Kubernetes takes for an amount that is not negative.
var quantity = lazyregexp.New(`^\+?([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]{1,2}))?$`)

// binary and decimal are what the suffixes stand for: powers of 1024 and of 10.
var (
	binary  = map[string]int64{"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
	decimal = map[string]int64{"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
)

// amount reads a quantity as Kubernetes does: "512Mi", "1.5G", "2e9", "100m".
func amount(text string) (*big.Rat, bool) {
	parts := quantity.FindStringSubmatch(text)
	if parts == nil {
		return nil, false
	}
	number, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return nil, false
	}
	exponent, _ := strconv.ParseInt(parts[4], 10, 64) // two digits at most; none is zero
	return number.Mul(number, power(1024, binary[parts[2]])).
		Mul(number, power(10, decimal[parts[3]]+exponent)), true
}

func power(base, exponent int64) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(max(exponent, -exponent)), nil))
	if exponent < 0 {
		p.Inv(p)
	}
	return p
}

// heap is the size of Node's heap in MiB under a limit of memory: three
// quarters of it, rounded down. False means that the limit is no quantity.
func heap(limit string) (mebibytes int64, ok bool) {
	bytes, ok := amount(limit)
	if !ok {
		return 0, false
	}
	bytes.Mul(bytes, big.NewRat(3, 4<<20))
	whole := new(big.Int).Quo(bytes.Num(), bytes.Denom())
	return whole.Int64(), whole.IsInt64()
}
