'use strict'

/** A price that moves further than this in one step is likely a mistake. */
const LEAP = 5

async function transition (input, entry) {
  if (!entry.active)
    return new Error('INACTIVE')

  if (!input.force && isLeap(entry.price, input.price))
    return new Error('SUSPICIOUS_PRICE')

  if (entry.price === input.price)
    entry.DISCARD = true

  entry.price = input.price
}

function isLeap (before, after) {
  if (before === 0)
    return false

  return after > before * LEAP || after < before / LEAP
}

exports.transition = transition
