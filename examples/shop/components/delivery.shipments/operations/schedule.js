'use strict'

/** What a piece weighs on average, with its share of the box. */
const GRAMS = 450

async function transition (input, entry) {
  entry.order = input.order
  entry.grams = input.pieces * GRAMS
  entry.status = 'waiting'
}

exports.transition = transition
