'use strict'

function request (payment) {
  return { query: { id: payment.order } }
}

exports.request = request
