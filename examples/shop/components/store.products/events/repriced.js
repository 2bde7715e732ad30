'use strict'

function condition ({ origin, state }) {
  return origin !== null && origin.price !== state.price
}

function payload ({ origin, state }) {
  return { id: state.id, sku: state.sku, before: origin.price, price: state.price }
}

exports.condition = condition
exports.payload = payload
