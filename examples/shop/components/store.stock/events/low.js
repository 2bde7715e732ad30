'use strict'

function condition ({ origin, state }) {
  const was = origin === null || origin.available > state.threshold

  return was && state.available <= state.threshold
}

function payload ({ state }) {
  return { sku: state.sku, available: state.available }
}

exports.condition = condition
exports.payload = payload
