'use strict'

const SIGNS = { EUR: '€', SEK: 'kr', USD: '$' }

/** Writes cents for people: 1999 EUR is "19.99 €". */
function label (cents, currency) {
  const whole = Math.trunc(cents / 100)
  const rest = String(Math.abs(cents % 100)).padStart(2, '0')

  return `${whole}.${rest} ${SIGNS[currency] ?? currency}`
}

exports.label = label
