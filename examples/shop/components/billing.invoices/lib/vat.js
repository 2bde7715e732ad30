'use strict'

/** Percent, by country. */
const RATES = { AT: 20, DE: 19, FR: 20, NL: 21, SE: 25 }

/**
 * Takes a gross amount in cents apart. The tax is what is left, so that both
 * parts always add up. Undefined for a country that is not known.
 */
function split (gross, country) {
  const rate = RATES[country]

  if (rate === undefined)
    return undefined

  const net = Math.round(gross * 100 / (100 + rate))

  return { net, vat: gross - net }
}

exports.split = split
